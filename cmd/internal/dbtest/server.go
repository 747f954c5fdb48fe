package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Options of a server. The zero value is a durable server: it answers a COMMIT
// when the log is on disk.
type Options struct {
	// Fast lets the server answer a COMMIT before the log is on disk.
	Fast bool

	// Cache is what the server may keep of its tables in memory, in megabytes.
	// Defaults to 64: it starts fast.
	Cache int

	// Statements has MariaDB and MySQL keep a binary log of statements, which is the
	// default of MySQL before 5.7.7.
	Statements bool

	// StartWithin bounds each wait until the server answers. Defaults to 2 min: a
	// loaded machine is slow, and a server that ends is noticed at once.
	StartWithin time.Duration
}

// Server is a database server of the test's own. It dies with the process that
// launched it, however that ends. Its methods may not be called concurrently,
// except that a server may be killed while another goroutine uses it.
type Server struct {
	Kind    Kind
	Version string // such as 10.11.19
	Addr    string // host:port, the same after every start
	DSN     string // without a database, for go-sql-driver, or pgx and lib/pq

	opts   Options
	engine engine
	folder *folder
	mu     sync.Mutex
	proc   *process
}

// engine is what differs from product to product.
type engine interface {
	// prepare creates the data in the folder.
	prepare(ctx context.Context, f *folder) error
	// command returns the program and the arguments of the server.
	command(f *folder, port string, o Options) []string
	// dsn returns the base DSN.
	dsn(addr string) string
	// driver names the database/sql driver, version is a query for it.
	driver() string
	version() string
	// stop is the signal of an orderly end.
	stop() os.Signal
	// forget removes what a killed server leaves outside its folder.
	forget(f *folder)
}

// Launch starts a server of kind k on a free port with empty data and waits
// until it answers. Close it after use.
func Launch(ctx context.Context, k Kind, opts *Options) (*Server, error) {
	e, err := find(k)
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: k, engine: e}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Cache <= 0 {
		s.opts.Cache = 64
	}
	if s.opts.StartWithin <= 0 {
		s.opts.StartWithin = 2 * time.Minute
	}
	if s.folder, err = newFolder(k.String()); err != nil {
		return nil, err
	}
	if err := s.first(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("dbtest: %v: %w", k, err)
	}
	return s, nil
}

// first prepares the data and starts the server for the first time. Another
// program may take the free port first, so it tries a few.
func (s *Server) first(ctx context.Context) error {
	if err := s.engine.prepare(ctx, s.folder); err != nil {
		return err
	}
	var err error
	for range 3 {
		if s.Addr, err = freeAddr(); err != nil {
			return err
		}
		s.DSN = s.engine.dsn(s.Addr)
		if err = s.Start(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Start starts a stopped or killed server again, on the same port and data,
// and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	_, port, _ := net.SplitHostPort(s.Addr)
	p, err := s.folder.start(s.engine.command(s.folder, port, s.opts)...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.proc = p
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartWithin)
	defer cancel()
	if err := s.wait(ctx, p); err != nil {
		p.kill()
		return fmt.Errorf("no answer on %s: %w\n%s", s.Addr, err, s.folder.logTail())
	}
	return nil
}

// wait asks the server for its version until it answers.
func (s *Server) wait(ctx context.Context, p *process) error {
	db, err := sql.Open(s.engine.driver(), s.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.QueryRowContext(ctx, s.engine.version()).Scan(&s.Version)
		if err == nil {
			s.Version = plain(s.Version)
			return nil
		}
		select {
		case <-p.done:
			return errors.New("the server ended")
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Kill ends the server at once with SIGKILL, all its processes, and waits
// until they are gone.
func (s *Server) Kill() {
	if p := s.process(); p != nil {
		p.kill()
	}
}

// Stop ends the server in order: open connections are cut, data is flushed.
func (s *Server) Stop() {
	if p := s.process(); p != nil {
		p.stop(s.engine.stop(), 20*time.Second)
	}
}

// Pause freezes every process of the server with SIGSTOP: connections stay
// open and nothing answers.
func (s *Server) Pause() error { return s.process().pause() }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.process().resume() }

// Running reports whether the server's process is there.
func (s *Server) Running() bool {
	p := s.process()
	return p != nil && p.running()
}

// Log returns the end of what the server printed.
func (s *Server) Log() string { return s.folder.logTail() }

// Folder returns the folder that holds the server's data.
func (s *Server) Folder() string { return s.folder.path }

// Close stops the server and removes its data.
func (s *Server) Close() {
	s.Stop()
	s.engine.forget(s.folder)
	s.folder.remove()
}

func (s *Server) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// plain cuts what distributions append: 10.11.19-MariaDB-…, 15.18 (Debian …).
func plain(version string) string {
	for i, c := range version {
		if c == '-' || c == ' ' {
			return version[:i]
		}
	}
	return version
}

// freeAddr returns a free address below the range from which the system takes
// the ports of outgoing connections: while a killed server is down, a client
// that calls again and again could otherwise be given the server's own port.
func freeAddr() (string, error) {
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(randomPort()))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no free port")
}

// ErrMissing says that a product is not installed.
var ErrMissing = errors.New("not installed")

// find returns what starts a server of kind k, or ErrMissing.
func find(k Kind) (engine, error) {
	switch k {
	case MariaDB:
		return findMariaDB()
	case MySQL:
		return findMySQL()
	case Postgres:
		return findPostgres()
	default:
		return nil, fmt.Errorf("dbtest: %v has no server", k)
	}
}

// look returns the last match of the first pattern that has one.
func look(patterns ...string) (string, bool) {
	for _, p := range patterns {
		found, _ := filepath.Glob(p)
		if len(found) > 0 {
			return found[len(found)-1], true
		}
	}
	return "", false
}

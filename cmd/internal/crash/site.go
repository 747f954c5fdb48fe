package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis"
)

// SiteConfig is what a site needs to know, as JSON in SiteEnv.
type SiteConfig struct {
	Driver, DSN string
	Dialect     nebis.Dialect
}

// SiteEnv is the environment variable with a site's configuration.
const SiteEnv = "NEBIS_CRASH_SITE"

// A request names a key and where to stop, or lets a stopped Do go on. With a
// length it is a Lease.
type request struct {
	Key   string
	Stop  step
	Lease time.Duration
	GoOn  bool
}

// A message says that a Do has stopped, or what it returned.
type message struct {
	Stopped step
	Attempt *attempt
}

type site struct {
	store *nebis.Store
	goOn  chan struct{}
	mu    sync.Mutex
	out   *json.Encoder
}

// Site is a shop in a process of its own, which can be killed. It reads requests,
// calls Do for each, stops where it was asked to, and says so. It ends when its
// input does.
func Site(config string, in io.Reader, out io.Writer) error {
	var c SiteConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("%s: %w", SiteEnv, err)
	}
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		return err
	}
	db, err := openGated(c.Driver, c.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(10)
	store, err := nebis.New(db, c.Dialect, nil)
	if err != nil {
		return err
	}
	s := &site{store: store, goOn: make(chan struct{}), out: json.NewEncoder(out)}
	return s.listen(json.NewDecoder(in))
}

func (s *site) listen(in *json.Decoder) error {
	for {
		var r request
		switch err := in.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.GoOn:
			s.goOn <- struct{}{}
		default:
			go s.serve(r)
		}
	}
}

func (s *site) serve(r request) {
	if r.Lease > 0 {
		a := tryLease(context.Background(), s.store, r.Key, leaseOptions(r.Lease), func(ctx context.Context) {
			s.stop(r.Stop)
			<-ctx.Done() // it was stopped for longer than its lease
		})
		s.say(message{Attempt: &a})
		return
	}
	a := try(context.Background(), s.store, r.Key, func(ctx context.Context, at step) {
		switch {
		case at == r.Stop:
			s.stop(at)
		case at == afterWrites:
			s.arm(ctx, r.Stop)
		}
	})
	if r.Stop == beforeAnswer {
		s.stop(r.Stop)
	}
	s.say(message{Attempt: &a})
}

// arm makes the transaction's connection stop around its COMMIT.
func (s *site) arm(ctx context.Context, at step) {
	conn, _ := nebis.Conn(ctx)
	err := conn.Raw(func(c any) error {
		switch at {
		case beforeCommit:
			c.(*gated).before = func() { s.stop(at) }
		case afterCommit:
			c.(*gated).after = func() { s.stop(at) }
		}
		return nil
	})
	if err != nil {
		panic(err) // there was a statement on it just now
	}
}

func (s *site) stop(at step) {
	s.say(message{Stopped: at})
	<-s.goOn
}

func (s *site) say(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(m); err != nil {
		panic(err) // the parent has gone
	}
}

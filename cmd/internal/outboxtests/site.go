package outboxtests

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/outbox"
)

// SiteConfig is what a site needs to know, as JSON in SiteEnv.
type SiteConfig struct {
	Driver, DSN string
	Dialect     nebis.Dialect
	Provider    string // address of the other side
	Runs        int    // workers
	Lease       time.Duration
}

// SiteEnv is the environment variable with a site's configuration.
const SiteEnv = "NEBIS_OUTBOX_SITE"

// A step is a moment in the life of one call.
type step string

const (
	beforeCommit step = "before COMMIT"
	afterCommit  step = "after COMMIT"
	beforeCall   step = "claimed, before the call"
	duringCall   step = "during the call"
	beforeSave   step = "after the call, before its state is saved"
	inCompensate step = "in the compensation, before its COMMIT"
)

var steps = []step{beforeCommit, afterCommit, beforeCall, duringCall, beforeSave, inCompensate}

// An order is placed by a site, and charged on the other side.
type order struct {
	Name   string
	Stop   step // where its first try stops
	Refuse bool // the other side refuses it for good
	Takes  time.Duration
}

// A message says where a site has stopped, or how a try has ended.
type message struct {
	Stopped step         `json:",omitempty"`
	State   outbox.State `json:",omitempty"`
	Lost    bool         `json:",omitempty"`
	Err     string       `json:",omitempty"`
}

// Site is a shop in a process of its own, which can be killed. It places the
// orders that it reads, makes the calls that are due, stops where an order wants
// it, and says so. It ends when its input does.
func Site(config string, in io.Reader, out io.Writer) error {
	var c SiteConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("%s: %w", SiteEnv, err)
	}
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		return err
	}
	db, err := sql.Open(c.Driver, c.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(10)
	s := &site{db: db, c: c, out: json.NewEncoder(out), placed: map[string]bool{}}
	if s.o, err = outbox.New(db, c.Dialect, &outbox.Options{Lease: c.Lease, Poll: 50 * time.Millisecond, Observe: s.tell}); err != nil {
		return err
	}
	s.o.Handle("charge", charging(c.Provider, c.Dialect, s.at))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range c.Runs {
		running.Go(func() { _ = s.o.Run(ctx) })
	}
	err = s.listen(json.NewDecoder(in))
	cancel()
	running.Wait()
	return err
}

type site struct {
	db     *sql.DB
	o      *outbox.Outbox
	c      SiteConfig
	mu     sync.Mutex
	out    *json.Encoder
	placed map[string]bool // by this process: only its own orders stop
}

func (s *site) listen(in *json.Decoder) error {
	for {
		var o order
		switch err := in.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		s.mu.Lock()
		s.placed[o.Name] = true
		s.mu.Unlock()
		if err := place(context.Background(), s.db, s.c.Dialect, s.o, o, s.at); err != nil {
			return err
		}
	}
}

// at stops for ever where an order of this process wants it.
func (s *site) at(o order, here step) {
	s.mu.Lock()
	mine := s.placed[o.Name]
	s.mu.Unlock()
	if mine && o.Stop == here {
		s.say(message{Stopped: here})
		select {}
	}
}

func (s *site) tell(_ context.Context, e outbox.Event) {
	m := message{State: e.State, Lost: errors.Is(e.Err, nebis.ErrLost)}
	if e.Err != nil {
		m.Err = e.Err.Error()
	}
	s.say(m)
}

func (s *site) say(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(m); err != nil {
		panic(err) // the parent has gone
	}
}

// Package gauges reads what is measured of a key table and of what lies beside it:
// the outbox, and the deliveries that have failed. It asks only for what takes a
// bounded time whatever the size, and seldom.
package gauges

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/outbox"
)

// Options are what a Reader does differently from its defaults. The zero value of
// each field is its default.
type Options struct {
	Outbox  string        // the outbox's table. Defaults to "outbox"
	Every   time.Duration // at most this often the database is asked. Defaults to 15 seconds
	Timeout time.Duration // of one look. Defaults to 5 seconds
	Over    time.Duration // after which an operation is stuck. Defaults to 60 seconds
}

// What is counted at most.
const (
	MostRows       = 10000 // of each kind
	MostUnfinished = 1000
)

// A Reader remembers what it has read. It is safe for use by many goroutines.
type Reader struct {
	db    *sql.DB
	store *nebis.Store
	o     Options

	mu   sync.Mutex
	last *Reading
	at   time.Time
	walk walk
}

// New returns a Reader. It sends nothing to the database.
func New(db *sql.DB, store *nebis.Store, o Options) (*Reader, error) {
	if db == nil || store == nil {
		return nil, errors.New("no database or no Store")
	}
	if o.Every < 0 || o.Timeout < 0 || o.Over < 0 {
		return nil, errors.New("a time is negative")
	}
	if _, err := outbox.Schema(store.Dialect(), o.Outbox); err != nil { // it knows which names there are
		return nil, err
	}
	o.Outbox = cmp.Or(o.Outbox, "outbox")
	o.Every = cmp.Or(o.Every, 15*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Over = cmp.Or(o.Over, 60*time.Second)
	return &Reader{db: db, store: store, o: o}, nil
}

// Table is the name of the key table.
func (r *Reader) Table() string { return r.store.Table() }

// A Reading is what was read. Where Err is set, the rest means nothing.
type Reading struct {
	Rows       map[nebis.State]int64 // those that are free are counted as done
	Oldest     time.Duration         // since the oldest unfinished row was claimed
	CleanupLag time.Duration         // since the first row expired that is still there
	LastSweep  int64                 // when a clean-up last came to its end, in microseconds since 1970; 0: none has
	Calls      map[outbox.State]int64
	CallsLag   time.Duration // since the first call was due that nobody has made
	Failures   int64         // deliveries that have failed and were not done since
	Held       *Held         // nil: this database does not tell
	Took       time.Duration
	Err        error
}

// Read asks the database, or returns what it said before, if that is not long ago.
func (r *Reader) Read() *Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && time.Since(r.at) < r.o.Every {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.o.Timeout)
	defer cancel()
	began := time.Now()
	n := &Reading{}
	for _, look := range []func(context.Context, *Reading) error{r.keys, r.calls, r.failures, r.sessions} {
		if n.Err = look(ctx, n); n.Err != nil {
			break
		}
	}
	n.Took = time.Since(began)
	r.last, r.at = n, time.Now()
	return n
}

func (r *Reader) keys(ctx context.Context, n *Reading) error {
	t, err := keytable.Look(ctx, r.db, r.store.Dialect(), r.store.Table())
	if err != nil {
		return err
	}
	size, err := t.Size(ctx, MostRows)
	if err != nil {
		return err
	}
	expired, lag, err := t.Expired(ctx, MostRows)
	if err != nil {
		return err
	}
	open, err := r.unfinished(ctx, t, n)
	if err != nil {
		return err
	}
	n.CleanupLag = lag
	n.Rows = map[nebis.State]int64{nebis.StateInProgress: 0, nebis.StateUnknown: 0, nebis.StateExpired: expired}
	for _, o := range open {
		n.Rows[o.State]++
		n.Oldest = max(n.Oldest, o.Age)
	}
	n.Rows[nebis.StateDone] = max(size-expired-int64(len(open)), 0)
	if !t.Adopted() {
		return nil // nobody has swept it
	}
	_, last, err := r.store.LastSweep(ctx)
	if err == nil && !last.IsZero() {
		n.LastSweep = last.UnixMicro()
	}
	return err
}

// Now is what a Store does at this moment in this process.
type Now struct {
	Running, Waiting, Stuck int
	Oldest                  time.Duration
}

// Now asks no database.
func (r *Reader) Now() Now {
	var n Now
	for _, op := range r.store.Running(0) { // the oldest first
		n.Running++
		n.Waiting += op.Waiting
		if op.For > r.o.Over {
			n.Stuck++
		}
		n.Oldest = max(n.Oldest, op.For)
	}
	return n
}

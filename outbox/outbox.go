package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/sqltext"
)

// Options are what an Outbox does differently from its defaults. The zero value
// of each field is its default.
type Options struct {
	// Table is the table's name, optionally with a schema before a dot.
	// Defaults to "outbox".
	Table string

	// Lease is how long a worker that has gone silent keeps a call. Defaults to
	// 60 seconds; at least a second. A worker that lives extends its lease every
	// third of it.
	Lease time.Duration

	// Poll is how often an idle Run looks for calls that this process did not add,
	// with one statement each time. Defaults to 5 seconds.
	Poll time.Duration

	// Parallel is how many calls one Run makes at the same time. Defaults to 8.
	Parallel int

	// Keep is how long calls that are done or compensated stay, for Purge.
	// Defaults to 7 days. Dead ones stay until somebody has decided.
	Keep time.Duration

	// MaxPayload is the largest encoded payload, in bytes, that Add takes, and the
	// largest result that is kept. Defaults to 64 KiB; at most 16,777,215, which
	// every database's column takes.
	MaxPayload int

	// Observe, if set, is called after every try, and when the database could not
	// be asked, by the goroutine of the worker.
	Observe func(context.Context, Event)
}

// An Event tells of one try. The key and the payload are not in it.
type Event struct {
	ID    int64 // 0: the database could not be asked, see Err
	Name  string
	State State // what the call is in now
	Tries int   // of the call, or of its compensation, this one included
	Took  time.Duration
	Err   error // why it failed; nebis.ErrLost: another worker has it, nothing was saved
}

// An Outbox keeps calls in one table of one database. It is safe for use by many
// goroutines. Use one Outbox per database and table in a process: its workers
// look for a call at once that the same Outbox has added.
type Outbox struct {
	db    *sql.DB
	d     nebis.Dialect
	n     sqltext.Name
	o     Options
	sql   *dialect
	q     *statements
	way   atomic.Pointer[way]                // known from the first look on: servers differ
	level atomic.Pointer[sql.IsolationLevel] // of a claim and of Purge on MySQL, likewise
	mu    sync.RWMutex
	calls map[string]Call
	hints *hints
	one   chan struct{} // the place of SQLite's one writer
}

// New returns an Outbox. It sends nothing to the database; Migrate makes the
// table. It fails on an unknown dialect, a malformed table name or a bound that
// is out of range.
func New(db *sql.DB, d nebis.Dialect, o *Options) (*Outbox, error) {
	if db == nil {
		return nil, errors.New("outbox: no database")
	}
	x := &Outbox{db: db, d: d, calls: map[string]Call{}, hints: newHints(), one: make(chan struct{}, 1)}
	if o != nil {
		x.o = *o
	}
	var err error
	if x.n, err = parseName(x.o.Table); err != nil {
		return nil, err
	}
	if x.sql = dialectOf(d); x.sql == nil {
		return nil, fmt.Errorf("outbox: unknown dialect %v", d)
	}
	if err := x.o.fill(); err != nil {
		return nil, err
	}
	x.q = newStatements(x.sql, x.n)
	return x, nil
}

// fill puts the defaults in.
func (o *Options) fill() error {
	if o.Lease < 0 || o.Poll < 0 || o.Parallel < 0 || o.Keep < 0 || o.MaxPayload < 0 {
		return errors.New("outbox: a bound in Options is negative")
	}
	orDefault(&o.Lease, time.Minute)
	orDefault(&o.Poll, 5*time.Second)
	orDefault(&o.Parallel, 8)
	orDefault(&o.Keep, 7*24*time.Hour)
	orDefault(&o.MaxPayload, 64<<10)
	if o.Lease < time.Second {
		return fmt.Errorf("outbox: lease of %v; want a second at least", o.Lease)
	}
	if o.MaxPayload > mostPayload {
		return fmt.Errorf("outbox: payloads of %d bytes; want %d at most", o.MaxPayload, mostPayload)
	}
	return nil
}

// mostPayload is what MySQL's MEDIUMTEXT takes. Out of strict mode it would cut the
// rest without a word.
const mostPayload = 1<<24 - 1

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Purge removes at most limit calls that have been done or compensated for longer
// than Options.Keep and returns how many. It is one short transaction; call it
// until it returns 0.
func (o *Outbox) Purge(ctx context.Context, limit int) (int, error) {
	opts := &sql.TxOptions{}
	if o.d == nebis.MySQL {
		// At REPEATABLE READ the scan would lock the gap into which calls that
		// end now are moved.
		var err error
		if opts.Isolation, err = o.loose(ctx); err != nil {
			return 0, fmt.Errorf("outbox: purge: %w", err)
		}
	}
	free, err := o.turn(ctx)
	if err != nil {
		return 0, fmt.Errorf("outbox: purge: %w", err)
	}
	defer free()
	var n int64
	tx, err := o.db.BeginTx(ctx, opts)
	if err != nil {
		return 0, fmt.Errorf("outbox: purge: %w", err)
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, o.q.purge, -o.o.Keep.Microseconds(), limit)
	if err == nil {
		n, err = res.RowsAffected()
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return 0, fmt.Errorf("outbox: purge: %w", err)
	}
	return int(n), nil
}

func (o *Outbox) tell(ctx context.Context, e Event) {
	if o.o.Observe != nil {
		o.o.Observe(ctx, e)
	}
}

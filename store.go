package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Options are what a Store does differently from its defaults. The zero value
// of each field is its default.
type Options struct {
	// Table is the table's name, optionally with a schema before a dot.
	// Defaults to "idempotency".
	Table string

	// Keep is how long an answer stays. Defaults to 24 hours. It should be
	// longer than the time over which a client, or a person, sends again.
	Keep time.Duration

	// Wait is how long a duplicate waits for the first to end, in memory and
	// in the database together. Defaults to 10 seconds; negative: not at all.
	Wait time.Duration

	// WaitPiece is how long one claim waits in the database before it lets go
	// of its connection for a moment. Defaults to 5 seconds; MySQL and MariaDB
	// count whole seconds.
	WaitPiece time.Duration

	// CommitWait is how long the answer to a COMMIT is waited for, and as long
	// again to learn what became of one without an answer. Defaults to 10 seconds.
	CommitWait time.Duration

	// MaxWaiters is how many duplicates of one key wait in this process; more
	// get ErrInProgress at once. Defaults to 1,000.
	MaxWaiters int

	// MaxWaitingConns is how many connections may wait for keys that other
	// processes hold. Defaults to 5. (On MySQL proper a first claim may wait
	// beside these, for innodb_lock_wait_timeout at most.)
	MaxWaitingConns int

	// MaxClaims is how often a claim is sent for one call, each after the one
	// before it met a deadlock or a row that went away. Defaults to 20.
	MaxClaims int

	// MaxResponse is the largest encoded result, in bytes, that is kept.
	// Defaults to 1 MiB.
	MaxResponse int

	// MaxRows is how many rows one Batch may have. Defaults to 1,000.
	MaxRows int

	// Isolation is the level of the transactions of Do. Defaults to the
	// connection's own. On MySQL a level costs a round trip more; in the DSN it
	// costs none.
	Isolation sql.IsolationLevel

	// Strict makes MySQL proper notice a function that ended its transaction by
	// hand or by DDL, for two round trips more. The other databases notice
	// always.
	Strict bool

	// Unprepared sends the statements of Do as the driver sends those of the
	// application. By default they are prepared once per connection on MySQL,
	// MariaDB and SQLite, which makes them cheaper; pgx does that by itself.
	Unprepared bool

	// Observe, if set, is called at the end of every operation, by the calling
	// goroutine.
	Observe func(context.Context, Event)
}

const (
	defaultTable = "idempotency"
	defaultKeep  = 24 * time.Hour
)

// A Store runs operations once, in one table of one database. It is safe for
// use by many goroutines. Use one Store per database and table in a process:
// duplicates that meet in one Store wait in memory.
type Store struct {
	db   *sql.DB
	d    Dialect
	n    name
	o    Options
	eng  atomic.Pointer[engine] // known from the first call on: servers differ
	pre  atomic.Pointer[prepared]
	fs   flights
	wait chan struct{} // a place for each connection that waits for a key
	one  chan struct{} // the place of the one writer, first come first served
	done *recent
}

// Dialect is that of the store's database.
func (s *Store) Dialect() Dialect { return s.d }

// Table is the name of the store's table, with its schema if one was given.
func (s *Store) Table() string {
	if s.n.schema == "" {
		return s.n.table
	}
	return s.n.schema + "." + s.n.table
}

// New returns a Store. It sends nothing to the database; Migrate makes the
// table, Check looks for what would break the promise. It fails on an unknown
// dialect, a malformed table name or a negative bound.
func New(db *sql.DB, d Dialect, o *Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("nebis: no database")
	}
	s := &Store{db: db, d: d}
	if o != nil {
		s.o = *o
	}
	var err error
	if s.n, err = parseName(s.o.Table); err != nil {
		return nil, err
	}
	if d.schema(s.n) == nil {
		return nil, fmt.Errorf("nebis: unknown dialect %v", d)
	}
	if err := s.o.fill(); err != nil {
		return nil, err
	}
	s.wait = make(chan struct{}, s.o.MaxWaitingConns)
	s.one = make(chan struct{}, 1)
	s.done = newRecent()
	return s, nil
}

// fill puts the defaults in.
func (o *Options) fill() error {
	if o.Keep < 0 || o.CommitWait < 0 || o.WaitPiece < 0 || o.MaxWaiters < 0 || o.MaxWaitingConns < 0 || o.MaxClaims < 0 || o.MaxResponse < 0 || o.MaxRows < 0 {
		return errors.New("nebis: a bound in Options is negative")
	}
	orDefault(&o.Keep, defaultKeep)
	orDefault(&o.Wait, 10*time.Second)
	orDefault(&o.CommitWait, 10*time.Second)
	orDefault(&o.WaitPiece, 5*time.Second)
	orDefault(&o.MaxWaiters, 1000)
	orDefault(&o.MaxWaitingConns, 5)
	orDefault(&o.MaxClaims, 20)
	orDefault(&o.MaxResponse, 1<<20)
	orDefault(&o.MaxRows, 1000)
	return nil
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

package hourly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nebis-dev/nebis"
)

// Options are what a Counter does differently from its defaults. The zero value
// of each field is its default.
type Options struct {
	// Table is the name of the key table: the counts are in the table beside it
	// whose name ends in _hourly. Defaults to "idempotency".
	Table string

	// Every is how often Run writes. Defaults to 5 seconds.
	Every time.Duration

	// Keep is how long counts stay. Defaults to 62 days.
	Keep time.Duration

	// Failed, if set, is told when counts could not be written. They stay in
	// memory and are written the next time.
	Failed func(error)
}

// most is how many different counts are held in memory: scopes are of the
// program's own making, so more of them is a mistake.
const most = 10000

// Other is the scope of what is counted together: malformed scopes, and those that
// are too many.
const Other = "(other)"

type kind struct {
	scope   string
	outcome nebis.Outcome
}

// A Counter counts. It is safe for use by many goroutines.
type Counter struct {
	db     *sql.DB
	sql    statements
	o      Options
	mu     sync.Mutex
	counts map[kind]int64
	tidied time.Time // by the program's clock: it says only how often
}

// New returns a Counter. It sends nothing to the database; Migrate makes the table.
func New(db *sql.DB, d nebis.Dialect, o *Options) (*Counter, error) {
	if db == nil {
		return nil, errors.New("hourly: no database")
	}
	c := &Counter{db: db, counts: map[kind]int64{}}
	if o != nil {
		c.o = *o
	}
	if c.o.Every < 0 || c.o.Keep < 0 {
		return nil, errors.New("hourly: a time in Options is negative")
	}
	if c.o.Every == 0 {
		c.o.Every = 5 * time.Second
	}
	if c.o.Keep == 0 {
		c.o.Keep = 62 * 24 * time.Hour
	}
	var err error
	c.sql, err = statementsOf(d, c.o.Table)
	return c, err
}

// Observe counts one operation. It is for Options.Observe of a Store.
func (c *Counter) Observe(_ context.Context, e nebis.Event) {
	k := kind{e.Scope, e.Outcome}
	if !plain(k.scope) {
		k.scope = Other
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.counts[k]; !known && len(c.counts) >= most {
		k.scope = Other
	}
	c.counts[k]++
}

// plain reports whether it is a scope that a Store takes.
func plain(scope string) bool {
	for i := range len(scope) {
		if scope[i] < '!' || scope[i] > '~' {
			return false
		}
	}
	return scope != "" && len(scope) <= 64
}

// lastly is how long the last write may take, when ctx has ended.
const lastly = 5 * time.Second

// Run writes the counts until ctx ends, and once more then. The error is that of
// the last write.
func (c *Counter) Run(ctx context.Context) error {
	tick := time.NewTicker(c.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.Flush(ctx); err != nil && ctx.Err() == nil && c.o.Failed != nil {
				c.o.Failed(err)
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastly)
			defer cancel()
			return c.Flush(last)
		}
	}
}

// Flush writes what was counted since the last time, into the hour that the
// database's clock shows.
func (c *Counter) Flush(ctx context.Context) error {
	counts := c.take()
	if len(counts) == 0 {
		return nil
	}
	if err := c.write(ctx, counts); err != nil {
		c.giveBack(counts)
		return fmt.Errorf("hourly: %w", err)
	}
	return c.tidy(ctx)
}

func (c *Counter) take() map[kind]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = map[kind]int64{}
	return counts
}

func (c *Counter) giveBack(counts map[kind]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range counts {
		c.counts[k] += n
	}
}

// tidy forgets old counts, once in an hour.
func (c *Counter) tidy(ctx context.Context) error {
	c.mu.Lock()
	due := time.Since(c.tidied) >= time.Hour
	if due {
		c.tidied = time.Now()
	}
	c.mu.Unlock()
	if !due {
		return nil
	}
	if _, err := c.db.ExecContext(ctx, c.sql.tidy, int64(c.o.Keep/time.Hour)); err != nil {
		return fmt.Errorf("hourly: forget old counts: %w", err)
	}
	return nil
}

// hour is how an hour is written.
const hour = "2006-01-02 15"

// between returns how many hours lie between two.
func between(at, now string) (int, error) {
	a, err := time.Parse(hour, at)
	if err != nil {
		return 0, err
	}
	b, err := time.Parse(hour, now)
	return int(b.Sub(a) / time.Hour), err
}

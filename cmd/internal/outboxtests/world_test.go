package outboxtests

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// A world is one database with a shop in it, and the other side.
type world struct {
	t   *testing.T
	c   dbtest.Config
	dsn string
	db  *sql.DB
	p   *provider
}

func newWorld(t *testing.T, c dbtest.Config) *world {
	t.Helper()
	w := &world{t: t, c: c, dsn: c.Fresh(t), p: newProvider(t)}
	w.db = c.Pool(t, w.dsn)
	w.db.SetMaxOpenConns(10)
	for _, q := range tables {
		_, err := w.db.ExecContext(t.Context(), q)
		must(t, err)
	}
	must(t, w.outbox(nil).Migrate(t.Context()))
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) outbox(o *outbox.Options) *outbox.Outbox {
	w.t.Helper()
	x, err := outbox.New(w.db, w.c.Dialect, o)
	must(w.t, err)
	return x
}

// patience bounds what a broken outbox would never end. NEBIS_PATIENCE sets it.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("NEBIS_PATIENCE")); err == nil {
		return d
	}
	return 2 * time.Minute
}()

// count counts the rows of a table; with a name those of that name.
func (w *world) count(t testing.TB, table, name string) (n int) {
	t.Helper()
	query, args := `SELECT COUNT(*) FROM `+table, []any(nil)
	if name != "" {
		query, args = query+` WHERE name = ?`, []any{name}
		if w.c.Dialect == nebis.Postgres {
			query = `SELECT COUNT(*) FROM ` + table + ` WHERE name = $1`
		}
	}
	must(t, w.db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// A desk is an outbox with a table of its own, and what it tells.
type desk struct {
	*world
	t      *testing.T
	o      *outbox.Outbox
	table  string
	events chan outbox.Event
}

// desk makes one. Its workers hardly ever poll: they find by hints alone.
func (w *world) desk(t *testing.T, table string, o outbox.Options) *desk {
	t.Helper()
	d := &desk{world: w, t: t, table: table, events: make(chan outbox.Event, 1000)}
	o.Table, o.Observe = table, func(_ context.Context, e outbox.Event) { d.events <- e }
	if o.Poll == 0 {
		o.Poll = time.Hour
	}
	d.o = w.outbox(&o)
	must(t, d.o.Migrate(t.Context()))
	return d
}

// run starts a worker that ends with the test, or when stop is called.
func (d *desk) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.o.Run(ctx); err != nil {
			d.t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	d.t.Cleanup(stop)
	return stop
}

// within runs f in a transaction and commits.
func (d *desk) within(f func(*sql.Tx) error) {
	d.t.Helper()
	tx, err := d.db.BeginTx(d.t.Context(), nil)
	must(d.t, err)
	defer tx.Rollback()
	must(d.t, f(tx))
	must(d.t, tx.Commit())
}

// add adds a call that is committed.
func (d *desk) add(payload any) (id int64) {
	d.t.Helper()
	d.within(func(tx *sql.Tx) (err error) {
		id, err = d.o.Add(d.t.Context(), tx, "call", payload)
		return err
	})
	return id
}

// next waits for the next try to end.
func (d *desk) next() outbox.Event {
	d.t.Helper()
	for end := time.After(patience); ; {
		select {
		case e := <-d.events:
			if e.ID != 0 {
				return e
			}
			d.t.Logf("the database: %v", e.Err)
		case <-end:
			d.t.Fatal("no try has ended")
		}
	}
}

// becomes waits until the next tries have brought these states.
func (d *desk) becomes(states ...outbox.State) (last outbox.Event) {
	d.t.Helper()
	for i, want := range states {
		if last = d.next(); last.State != want {
			d.t.Fatalf("try %d: %s (%v), want %s", i+1, last.State, last.Err, want)
		}
	}
	return last
}

func (d *desk) show(id int64) *outbox.Job {
	d.t.Helper()
	j, err := d.o.Show(d.t.Context(), id)
	must(d.t, err)
	if j == nil {
		d.t.Fatalf("there is no call %d", id)
	}
	return j
}

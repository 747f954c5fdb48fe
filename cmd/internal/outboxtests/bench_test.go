package outboxtests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

func benchmarked(b *testing.B, f func(b *testing.B, c dbtest.Config, dsn string, db *sql.DB)) {
	for _, name := range []string{"sqlite-modernc", "mariadb", "mariadb-interpolate", "postgres-pgx", "mysql56"} {
		b.Run(name, func(b *testing.B) {
			c := dbtest.Lookup(name)
			if c.Dialect == nebis.SQLite {
				c = c.With("_pragma=synchronous(NORMAL)") // what sites use with WAL
			}
			dsn := c.Fresh(b)
			db := c.Pool(b, dsn)
			db.SetMaxOpenConns(32)
			db.SetMaxIdleConns(32)
			_, err := db.ExecContext(b.Context(), `CREATE TABLE orders (id INTEGER NOT NULL)`)
			must(b, err)
			f(b, c, dsn, db)
		})
	}
}

func newBox(b *testing.B, db *sql.DB, c dbtest.Config, o *outbox.Options) *outbox.Outbox {
	box, err := outbox.New(db, c.Dialect, o)
	must(b, err)
	must(b, box.Migrate(b.Context()))
	return box
}

// BenchmarkAdd is a transaction with one order, without and with a call, by turns.
// The difference is what Add costs.
func BenchmarkAdd(b *testing.B) {
	benchmarked(b, func(b *testing.B, c dbtest.Config, _ string, db *sql.DB) {
		box := newBox(b, db, c, nil)
		box.Handle("charge", outbox.Call{})
		order := func(call bool) time.Duration {
			begun := time.Now()
			tx, err := db.BeginTx(b.Context(), nil)
			must(b, err)
			_, err = tx.ExecContext(b.Context(), `INSERT INTO orders (id) VALUES (1)`)
			must(b, err)
			if call {
				_, err = box.Add(b.Context(), tx, "charge", order{Name: "order-1"})
				must(b, err)
			}
			must(b, tx.Commit())
			return time.Since(begun)
		}
		var without, with time.Duration
		for b.Loop() {
			without += order(false)
			with += order(true)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(without.Nanoseconds())/float64(b.N), "order-ns")
		b.ReportMetric(float64(with.Nanoseconds())/float64(b.N), "order+call-ns")
	})
}

// BenchmarkCalls has one Run make calls that are there already and take no time, a
// thousand in each turn.
func BenchmarkCalls(b *testing.B) {
	const calls = 1000
	benchmarked(b, func(b *testing.B, c dbtest.Config, _ string, db *sql.DB) {
		done := make(chan bool, calls)
		box := newBox(b, db, c, &outbox.Options{Parallel: 16, Observe: func(_ context.Context, e outbox.Event) {
			if e.State == outbox.Done {
				done <- true
			}
		}})
		box.Handle("charge", outbox.Call{Do: func(context.Context, *outbox.Job) (any, error) { return nil, nil }})
		var took time.Duration
		for b.Loop() {
			tx, err := db.BeginTx(b.Context(), nil)
			must(b, err)
			for range calls {
				_, err := box.Add(b.Context(), tx, "charge", 1)
				must(b, err)
			}
			must(b, tx.Commit())
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error)
			begun := time.Now()
			go func() { ended <- box.Run(ctx) }()
			for range calls {
				<-done
			}
			took += time.Since(begun)
			cancel()
			must(b, <-ended)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(b.N*calls)/took.Seconds(), "calls/s")
	})
}

// BenchmarkLatency is the time from the commit to the start of the call.
func BenchmarkLatency(b *testing.B) {
	benchmarked(b, func(b *testing.B, c dbtest.Config, _ string, db *sql.DB) {
		begun := make(chan time.Time, 1)
		done := make(chan bool, 1)
		box := newBox(b, db, c, &outbox.Options{Observe: func(context.Context, outbox.Event) { done <- true }})
		box.Handle("charge", outbox.Call{Do: func(context.Context, *outbox.Job) (any, error) {
			begun <- time.Now()
			return nil, nil
		}})
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() { ended <- box.Run(ctx) }()
		var took time.Duration
		for b.Loop() {
			tx, err := db.BeginTx(b.Context(), nil)
			must(b, err)
			_, err = box.Add(b.Context(), tx, "charge", 1)
			must(b, err)
			must(b, tx.Commit())
			committed := time.Now()
			took += (<-begun).Sub(committed)
			<-done
		}
		cancel()
		must(b, <-ended)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/first-try")
	})
}

// BenchmarkIdle counts what an idle Run sends, at a hundred times its usual pace.
// A prepared statement counts twice: it is two round trips.
func BenchmarkIdle(b *testing.B) {
	const faster = 100
	benchmarked(b, func(b *testing.B, c dbtest.Config, dsn string, db *sql.DB) {
		newBox(b, db, c, nil)
		counter := &counter{driver: db.Driver(), dsn: dsn}
		counted := sql.OpenDB(counter)
		defer counted.Close()
		box, err := outbox.New(counted, c.Dialect, &outbox.Options{Poll: 5 * time.Second / faster})
		must(b, err)
		box.Handle("charge", outbox.Call{Do: func(context.Context, *outbox.Job) (any, error) { return nil, nil }})
		var took time.Duration
		for b.Loop() {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(b.Context(), time.Second)
			must(b, box.Run(ctx))
			cancel()
			took += time.Since(begun)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(counter.n.Load())/faster/took.Minutes(), "stmts/min")
	})
}

// A counter is a connector that counts what is sent.
type counter struct {
	driver driver.Driver
	dsn    string
	n      atomic.Int64
}

func (c *counter) Driver() driver.Driver { return c.driver }

func (c *counter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	return &countedConn{conn, c}, err
}

type countedConn struct {
	driver.Conn
	c *counter
}

func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err == nil {
		c.c.n.Add(1)
	}
	return rows, err
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.c.n.Add(2)
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *countedConn) CheckNamedValue(v *driver.NamedValue) error {
	if k, ok := c.Conn.(driver.NamedValueChecker); ok {
		return k.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

package metrics

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// always asks the database at every scrape.
var always = &WatchOptions{Every: 1}

func (g *ground) plant(keys ...string) {
	g.Helper()
	for _, key := range keys {
		must(g.T, g.op(g.store, nebis.Op{Scope: "order", Owner: "ann", Key: key}, well))
	}
}

// What is in the table is told by state, and what is settled is told no more.
func TestTheTableIsMeasured(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, g.m.Watch(g.db, g.store, always))
		g.plant("1", "2", "3", "4", "5", "6")
		g.exec(`UPDATE idempotency SET expires_at = '2020-01-01 00:00:00' WHERE idem_key IN ('1', '2')`)
		g.exec(`UPDATE idempotency SET status = 'processing', lease_until = '2020-01-01 00:00:00', created_at = '2020-01-01 00:00:00' WHERE idem_key = '3'`)
		g.exec(`UPDATE idempotency SET status = 'processing', lease_until = '2120-01-01 00:00:00' WHERE idem_key = '4'`)
		want := map[string]float64{
			`nebis_table_read_success{table="idempotency"}`:             1,
			`nebis_table_rows{state="done",table="idempotency"}`:        2,
			`nebis_table_rows{state="expired",table="idempotency"}`:     2,
			`nebis_table_rows{state="unknown",table="idempotency"}`:     1,
			`nebis_table_rows{state="in-progress",table="idempotency"}`: 1,
			`nebis_outbox_calls{state="dead",table="idempotency"}`:      0,
			`nebis_outbox_oldest_due_seconds{table="idempotency"}`:      0,
			`nebis_callback_failures{table="idempotency"}`:              0,
		}
		g.has(want)
		years := (5 * 365 * 24 * time.Hour).Seconds()
		for _, name := range []string{`nebis_table_oldest_processing_seconds{table="idempotency"}`, `nebis_table_cleanup_lag_seconds{table="idempotency"}`} {
			if got := g.scrape()[name]; got < years || got > 1000*years {
				g.Errorf("%s is %v", name, got)
			}
		}
		must(g.T, g.store.Tx(g.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := g.store.Resolve(ctx, tx, "order", "ann", "3", nebis.Resolution{Verdict: nebis.DidNotHappen, Reason: "a test"})
			return err
		}))
		for {
			n, err := g.store.Purge(g.Context(), 10)
			must(g.T, err)
			if n == 0 {
				break
			}
		}
		g.has(map[string]float64{
			`nebis_table_rows{state="unknown",table="idempotency"}`: 0,
			`nebis_table_rows{state="expired",table="idempotency"}`: 0,
			`nebis_table_rows{state="done",table="idempotency"}`:    3, // the freed one among them
			`nebis_table_cleanup_lag_seconds{table="idempotency"}`:  0,
		})
	})
}

// What lies beside the table is told.
func TestTheOutboxAndFailedCallbacksAreMeasured(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, g.m.Watch(g.db, g.store, &WatchOptions{Outbox: "calls", Every: 1}))
		x, err := outbox.New(g.db, g.c.Dialect, &outbox.Options{Table: "calls"})
		must(g.T, err)
		must(g.T, x.Migrate(g.Context()))
		x.Handle("charge", outbox.Call{})
		must(g.T, callback.Migrate(g.Context(), g.db, g.store))
		must(g.T, g.store.Tx(g.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for range 3 {
				if _, err := x.Add(ctx, tx, "charge", 1); err != nil {
					return err
				}
			}
			return nil
		}))
		g.exec(`UPDATE calls SET due_at = '2020-01-01 00:00:00' WHERE id = 1`)
		g.exec(`UPDATE calls SET state = 'dead', due_at = NULL WHERE id = 2`)
		for id, done := range map[string]string{"a": "NULL", "b": "1"} {
			g.exec(`INSERT INTO idempotency_failures (id, provider, account, delivery, order_number, attempts, error, first_at, last_at, done_at)
VALUES ('` + id + `', 'p', '', 'd', 'o', 1, 'e', 1, 1, ` + done + `)`)
		}
		g.has(map[string]float64{
			`nebis_outbox_calls{state="pending",table="idempotency"}`: 2,
			`nebis_outbox_calls{state="dead",table="idempotency"}`:    1,
			`nebis_callback_failures{table="idempotency"}`:            1,
		})
		if due := g.scrape()[`nebis_outbox_oldest_due_seconds{table="idempotency"}`]; due < (5 * 365 * 24 * time.Hour).Seconds() {
			g.Errorf("the oldest call has been due for %v s", due)
		}
	})
}

// The last clean-up that came to its end is told by each process, whichever made it.
func TestTheLastCleanUpOfAnyProcessIsTold(t *testing.T) {
	const last = `nebis_sweep_last_success_timestamp_seconds{table="idempotency"}`
	each(t, func(g *ground) {
		must(g.T, g.m.Watch(g.db, g.store, always))
		g.has(map[string]float64{last: 0})
		_, err := g.another().Sweep(g.Context(), nil)
		must(g.T, err)
		_, at, err := g.store.LastSweep(g.Context())
		must(g.T, err)
		if at.IsZero() {
			g.Fatal("there was none")
		}
		g.has(map[string]float64{last: float64(at.UnixMicro()) / 1e6})
	})
}

// However often somebody scrapes.
func TestTheDatabaseIsAskedSeldom(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.m.Watch(g.db, g.store, &WatchOptions{Every: time.Hour}))
	g.plant("1")
	g.has(map[string]float64{`nebis_table_rows{state="done",table="idempotency"}`: 1})
	g.plant("2")
	g.has(map[string]float64{`nebis_table_rows{state="done",table="idempotency"}`: 1})
}

// Two tables, or one that is not there, or a database that has gone, do not keep the
// counters from being scraped.
func TestADatabaseThatIsAwayIsTold(t *testing.T) {
	each(t, func(g *ground) {
		away := g.c.Pool(g.T, g.c.Fresh(g.T))
		store, err := nebis.New(away, g.c.Dialect, &nebis.Options{Table: "elsewhere"})
		must(g.T, err)
		must(g.T, g.m.Watch(g.db, g.store, always))
		must(g.T, g.m.Watch(away, store, always))
		g.plant("1")
		g.has(map[string]float64{`nebis_table_read_success{table="elsewhere"}`: 0, `nebis_table_read_success{table="idempotency"}`: 1})
		away.Close()
		g.has(map[string]float64{
			`nebis_table_read_success{table="elsewhere"}`:         0,
			`nebis_operations_running{table="elsewhere"}`:         0,
			`nebis_operations_total{outcome="ran",scope="order"}`: 1,
		})
		for name := range g.scrape() {
			if strings.Contains(name, `"elsewhere"`) && !strings.HasPrefix(name, "nebis_table_read_") && !strings.Contains(name, "running") && !strings.HasPrefix(name, "nebis_operations_stuck") && !strings.HasPrefix(name, "nebis_duplicates_waiting") {
				g.Errorf("%s is told of a table that is not there", name)
			}
		}
	})
}

// A pool with no connection to spare does not hold a scrape up for ever.
func TestAScrapeIsBounded(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.m.Watch(g.db, g.store, &WatchOptions{Every: 1, Timeout: time.Millisecond}))
	g.db.SetMaxOpenConns(1)
	var conn *sql.Conn
	conn, err := g.db.Conn(t.Context())
	must(t, err)
	g.has(map[string]float64{`nebis_table_read_success{table="idempotency"}`: 0})
	conn.Close()
}

// What holds keys in any program is told, where the database tells it.
func TestTransactionsThatHoldKeysAreMeasured(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, g.m.Watch(g.db, g.store, always))
		_, told := g.scrape()[`nebis_stuck_transactions{table="idempotency"}`]
		if told == (g.c.Kind == dbtest.SQLite) {
			g.Fatalf("told: %v", told)
		}
		if told {
			g.has(map[string]float64{`nebis_stuck_transactions{table="idempotency"}`: 0, `nebis_stuck_hidden{table="idempotency"}`: 0})
		}
	})
}

// What runs at this moment is told, and what waits for it.
func TestWhatRunsIsMeasured(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, g.m.Watch(g.db, g.store, always))
		op := nebis.Op{Scope: "order", Key: "1", Owner: "ann", Wait: time.Hour}
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
		go func() { ended <- g.op(g.store, op, func() error { close(begun); <-goOn; return nil }) }()
		<-begun
		go func() { ended <- g.op(g.store, op, well) }()
		for g.scrape()[`nebis_duplicates_waiting{table="idempotency"}`] != 1 {
			time.Sleep(time.Millisecond)
		}
		got := g.scrape()
		if got[`nebis_operations_running{table="idempotency"}`] != 1 || got[`nebis_operations_stuck{table="idempotency"}`] != 0 || got[`nebis_oldest_running_seconds{table="idempotency"}`] <= 0 {
			g.Errorf("got %v", got)
		}
		close(goOn)
		must(g.T, <-ended)
		must(g.T, <-ended)
		g.has(map[string]float64{`nebis_operations_running{table="idempotency"}`: 0, `nebis_operations_total{outcome="replayed-memory",scope="order"}`: 1})
	})
}

package hourlytests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/hourly"
)

func each(t *testing.T, test func(t *testing.T, c dbtest.Config, db *sql.DB)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { test(t, c, c.Open(t)) })
	}
}

func counter(t *testing.T, db *sql.DB, c dbtest.Config, o *hourly.Options) *hourly.Counter {
	t.Helper()
	n, err := hourly.New(db, c.Dialect, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// total returns what the table says of an outcome of this hour and the last, as
// a test may run over the turn of an hour.
func total(t *testing.T, db *sql.DB, c dbtest.Config, o nebis.Outcome) (n int64) {
	t.Helper()
	all, err := hourly.Read(t.Context(), db, c.Dialect, "", 1)
	must(t, err)
	for _, x := range all {
		if x.Outcome == o && x.Age <= 1 {
			n += x.Times
		}
	}
	return n
}

// What a Store does is counted, whoever does it, and nothing is counted twice.
func TestManyProcessesCountIntoOneTable(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		const processes, keys = 4, 10
		var all sync.WaitGroup
		for p := range processes {
			all.Go(func() {
				n := counter(t, db, c, nil)
				store, err := nebis.New(db, c.Dialect, &nebis.Options{Observe: n.Observe})
				if err == nil {
					_, err = store.Migrate(t.Context(), false)
				}
				if err == nil {
					err = n.Migrate(t.Context())
				}
				for k := range keys {
					for range 2 {
						if err != nil {
							break
						}
						_, _, err = nebis.Do(t.Context(), store, nebis.Op{Scope: "order", Owner: fmt.Sprint(p), Key: fmt.Sprint(k)}, func(context.Context, *sql.Tx) (int, error) { return 1, nil })
						err = errors.Join(err, n.Flush(t.Context()))
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if ran, replayed := total(t, db, c, nebis.Ran), total(t, db, c, nebis.ReplayedTable); ran != processes*keys || replayed != processes*keys {
			t.Errorf("%d ran, %d replayed", ran, replayed)
		}
	})
}

// Without its table counting goes on in memory, claims know nothing of it, and
// nothing is lost.
func TestCountsWaitForTheirTable(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		n := counter(t, db, c, nil)
		n.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Ran})
		if err := n.Flush(t.Context()); err == nil {
			t.Error("it wrote into nothing")
		}
		n.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Ran})
		must(t, n.Migrate(t.Context()))
		must(t, n.Migrate(t.Context()))
		must(t, n.Flush(t.Context()))
		must(t, n.Flush(t.Context()))
		if got := total(t, db, c, nebis.Ran); got != 2 {
			t.Errorf("%d", got)
		}
	})
}

func TestRunWritesOnceMoreAtTheEnd(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		n := counter(t, db, c, &hourly.Options{Every: time.Hour})
		must(t, n.Migrate(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		n.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Mismatch})
		stop()
		must(t, <-ended)
		if got := total(t, db, c, nebis.Mismatch); got != 1 {
			t.Errorf("%d", got)
		}
	})
}

func TestManyKindsAndOldHours(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		n := counter(t, db, c, nil)
		must(t, n.Migrate(t.Context()))
		if _, err := db.Exec("INSERT INTO idempotency_hourly (at_hour, scope, outcome, times) VALUES ('2020-01-01 00', 'order', 'ran', 7)"); err != nil {
			t.Fatal(err)
		}
		for i := range 250 {
			n.Observe(t.Context(), nebis.Event{Scope: "s" + strings.Repeat("x", i%50) + fmt.Sprint(i), Outcome: nebis.Ran})
		}
		must(t, n.Flush(t.Context()))
		var lines, times int
		must(t, db.QueryRow("SELECT COUNT(*), SUM(times) FROM idempotency_hourly").Scan(&lines, &times))
		if lines != 250 || times != 250 {
			t.Errorf("%d lines, %d times: the old hour, or a part of the new", lines, times)
		}
	})
}

func TestSetReplaces(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config, db *sql.DB) {
		n := counter(t, db, c, nil)
		must(t, n.Migrate(t.Context()))
		must(t, n.Set(t.Context(), "x", "rows", 70))
		must(t, n.Set(t.Context(), "x", "rows", 30))
		if got := total(t, db, c, "rows"); got != 30 && got != 100 { // 100: over the turn of an hour
			t.Errorf("%d", got)
		}
	})
}

package otelnebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/metrics"
	"github.com/nebis-dev/nebis/outbox"
)

// What a Store does is counted by scope and outcome, and nobody is named.
func TestOperationsAreCounted(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, g.n.Watch(g.db, g.store, &WatchOptions{Every: 1}))
		op := nebis.Op{Scope: "order", Owner: "ann@example.org", Key: "key-of-ann", Fingerprint: "a"}
		must(g.T, g.op(g.store, op, nil))
		must(g.T, g.op(g.another(), op, nil))
		other := op
		other.Fingerprint = "b"
		if err := g.op(g.store, other, nil); !errors.Is(err, nebis.ErrMismatch) {
			g.Fatal(err)
		}
		other.Key = "second-key"
		if err := g.op(g.store, other, errors.New("sold out")); err == nil {
			g.Fatal("no error")
		}
		g.has(map[string]float64{
			`nebis.operations{outcome="ran",scope="order"} {operation}`:            1,
			`nebis.operations{outcome="replayed-table",scope="order"} {operation}`: 1,
			`nebis.operations{outcome="mismatch",scope="order"} {operation}`:       1,
			`nebis.operations{outcome="released",scope="order"} {operation}`:       1,
			`nebis.operations{outcome="unknown",scope="order"} {operation}`:        0,
			`nebis.operation.wait{scope="order"} s`:                                4,
			`nebis.operation.run{scope="order"} s`:                                 2,
			`nebis.table.read_success{table="idempotency"} `:                       1,
			`nebis.table.rows{state="done",table="idempotency"} {row}`:             1,
			`nebis.operations_running{table="idempotency"} {operation}`:            0,
		})
		for name := range g.collect() {
			if strings.Contains(name, "ann") || strings.Contains(name, "second") {
				g.Errorf("%s tells of a person or a key", name)
			}
		}
	})
}

// Whatever Prometheus is told, OpenTelemetry is told as well, and by its own exporter
// it has the same name, labels and value.
func TestEveryMetricOfPrometheusHasItsBrother(t *testing.T) {
	each(t, func(g *ground) {
		must(g.T, callback.Migrate(g.Context(), g.db, g.store))
		x, err := outbox.New(g.db, g.c.Dialect, nil)
		must(g.T, err)
		must(g.T, x.Migrate(g.Context()))
		must(g.T, g.op(g.store, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, nil))
		must(g.T, g.op(g.another(), nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, nil))
		_, err = g.another().Sweep(g.Context(), nil)
		must(g.T, err)
		must(g.T, g.n.Watch(g.db, g.store, nil))
		must(g.T, g.m.Watch(g.db, g.store, nil))
		g.tell(g.n)
		g.tell(g.m)
		want, got := g.series(g.reg), g.series(g.translated)
		if len(want) < 50 {
			g.Errorf("there are only %d series", len(want))
		}
		for name, v := range want {
			switch {
			case strings.HasPrefix(name, "nebis_table_read_seconds"): // no two looks take as long
				_, v, _ = strings.Cut(v, ": ")
				_, got[name], _ = strings.Cut(got[name], ": ")
			case got[name] == "" && strings.HasPrefix(v, "HISTOGRAM 0 "): // one of nothing begins with its first value there
				continue
			}
			if got[name] != v {
				g.Errorf("%s is\n%s, and of OpenTelemetry\n%s", name, v, got[name])
			}
		}
		for name := range got {
			if want[name] == "" {
				g.Errorf("only OpenTelemetry has %s", name)
			}
		}
	})
}

// A hook is what both packages have.
type hooks interface {
	Observe(context.Context, nebis.Event)
	ObserveOutbox(context.Context, outbox.Event)
	Callback(string, http.Handler) http.Handler
	Swept(int, error)
}

var _, _ hooks = (*Numbers)(nil), (*metrics.Metrics)(nil)

// tell tells what a Store on a healthy database seldom does, and what others do.
func (g *ground) tell(h hooks) {
	ctx := g.Context()
	for _, o := range nebis.Outcomes() {
		h.Observe(ctx, nebis.Event{Scope: "told", Outcome: o, Reclaims: 2, Waited: time.Second, Ran: 3 * time.Millisecond})
	}
	for i := range 2 * 100 {
		h.Observe(ctx, nebis.Event{Scope: fmt.Sprint("path-", i), Outcome: nebis.Ran})
	}
	h.ObserveOutbox(ctx, outbox.Event{Err: errors.New("the database is away")})
	h.ObserveOutbox(ctx, outbox.Event{ID: 1, Name: "charge", State: outbox.Done, Took: time.Second})
	h.ObserveOutbox(ctx, outbox.Event{ID: 2, Name: "charge", State: outbox.Done, Err: nebis.ErrLost})
	for _, code := range []int{200, 401, 500, 503, 503} {
		answer := h.Callback("pay", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		answer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	}
	h.Swept(3, nil)
	h.Swept(1, errors.New("the database went away"))
}

// However often a reader collects.
func TestTheDatabaseIsAskedSeldom(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.n.Watch(g.db, g.store, &WatchOptions{Every: time.Hour}))
	const done = `nebis.table.rows{state="done",table="idempotency"} {row}`
	must(t, g.op(g.store, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, nil))
	g.has(map[string]float64{done: 1})
	must(t, g.op(g.store, nebis.Op{Scope: "order", Owner: "ann", Key: "2"}, nil))
	g.has(map[string]float64{done: 1})
}

// Two tables are told apart, and one that is not there holds nothing up.
func TestADatabaseThatIsAwayIsTold(t *testing.T) {
	each(t, func(g *ground) {
		away := g.c.Pool(g.T, g.c.Fresh(g.T))
		store, err := nebis.New(away, g.c.Dialect, &nebis.Options{Table: "elsewhere"})
		must(g.T, err)
		must(g.T, g.n.Watch(g.db, g.store, &WatchOptions{Every: 1}))
		must(g.T, g.n.Watch(away, store, &WatchOptions{Every: 1}))
		away.Close()
		g.has(map[string]float64{
			`nebis.table.read_success{table="elsewhere"} `:            0,
			`nebis.operations_running{table="elsewhere"} {operation}`: 0,
			`nebis.table.read_success{table="idempotency"} `:          1,
		})
		for name := range g.collect() {
			if strings.HasPrefix(name, "nebis.table.rows") && strings.Contains(name, "elsewhere") {
				g.Errorf("%s is told of a table that is not there", name)
			}
		}
	})
}

// What waits and runs is told while it does.
func TestWhatRunsIsMeasured(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.n.Watch(g.db, g.store, nil))
	_, _, err := nebis.Do(t.Context(), g.store, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, func(context.Context, *sql.Tx) (int, error) {
		g.has(map[string]float64{`nebis.operations_running{table="idempotency"} {operation}`: 1})
		return 1, nil
	})
	must(t, err)
	g.has(map[string]float64{`nebis.operations_running{table="idempotency"} {operation}`: 0})
}

func TestMistakesAreTold(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("no provider is taken")
	}
	if _, err := New(sdk.NewMeterProvider(), &Options{MaxScopes: -1}); err == nil {
		t.Error("a negative number is taken")
	}
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.n.Watch(g.db, g.store, nil))
	if err := g.n.Watch(g.db, g.store, nil); err == nil {
		t.Error("the same table is watched twice")
	}
	if err := g.n.Watch(g.db, g.store, &WatchOptions{Outbox: "a b"}); err == nil {
		t.Error("a malformed name is taken")
	}
}

package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// What a Store does is counted by scope and outcome.
func TestOperationsAreCounted(t *testing.T) {
	each(t, func(g *ground) {
		op := nebis.Op{Scope: "order", Owner: "ann@example.org", Key: "key-of-ann", Fingerprint: "a"}
		must(g.T, g.op(g.store, op, well))
		must(g.T, g.op(g.another(), op, well))
		other := op
		other.Fingerprint = "b"
		if err := g.op(g.store, other, well); !errors.Is(err, nebis.ErrMismatch) {
			g.Fatal(err)
		}
		second := op
		second.Key = "second"
		if err := g.op(g.store, second, func() error { return errors.New("sold out") }); err == nil {
			g.Fatal("no error")
		}
		g.exec(`UPDATE idempotency SET expires_at = created_at`)
		must(g.T, g.op(g.store, op, well))
		g.has(map[string]float64{
			`nebis_operations_total{outcome="ran",scope="order"}`:             1,
			`nebis_operations_total{outcome="replayed-table",scope="order"}`:  1,
			`nebis_operations_total{outcome="mismatch",scope="order"}`:        1,
			`nebis_operations_total{outcome="released",scope="order"}`:        1,
			`nebis_operations_total{outcome="took-over",scope="order"}`:       1,
			`nebis_operations_total{outcome="unknown",scope="order"}`:         0,
			`nebis_operations_total{outcome="replayed-memory",scope="order"}`: 0,
			`nebis_operation_wait_seconds{scope="order"}`:                     5,
			`nebis_operation_run_seconds{scope="order"}`:                      3,
		})
		for name := range g.scrape() {
			if strings.Contains(name, "ann") || strings.Contains(name, "second\"") {
				g.Errorf("%s tells of a person or a key", name)
			}
		}
	})
}

func TestRepeatedClaimsAreCounted(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, nil)
	must(t, err)
	m.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Ran, Reclaims: 3, Ran: time.Second})
	m.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.ReplayedMemory})
	got := scrape(t, reg)
	for name, want := range map[string]float64{
		`nebis_claims_repeated_total{scope="order"}`:                      3,
		`nebis_operations_total{outcome="replayed-memory",scope="order"}`: 1,
		`nebis_operation_wait_seconds{scope="order"}`:                     2,
		`nebis_operation_run_seconds{scope="order"}`:                      1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Every outcome that there is begins at zero.
func TestEveryOutcomeIsThereFromTheStart(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, nil)
	must(t, err)
	m.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Ran})
	got := scrape(t, reg)
	for _, o := range nebis.Outcomes() {
		if _, there := got[fmt.Sprintf(`nebis_operations_total{outcome="%s",scope="order"}`, o)]; !there {
			t.Errorf("%s is not there", o)
		}
	}
}

// A program that makes a scope of each path does not fill the memory, and a malformed
// one does not end it.
func TestScopesAreFew(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, &Options{MaxScopes: 3})
	must(t, err)
	for _, scope := range []string{"", "a b", "\xff", strings.Repeat("x", 65)} {
		m.Observe(t.Context(), nebis.Event{Scope: scope, Outcome: nebis.Failed})
	}
	for i := range 10 {
		m.Observe(t.Context(), nebis.Event{Scope: fmt.Sprint("path-", i), Outcome: nebis.Ran})
	}
	got := scrape(t, reg)
	for name, want := range map[string]float64{
		`nebis_operations_total{outcome="failed",scope="(other)"}`: 4,
		`nebis_operations_total{outcome="ran",scope="(other)"}`:    7,
		`nebis_operations_total{outcome="ran",scope="path-2"}`:     1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, there := got[`nebis_operations_total{outcome="ran",scope="path-3"}`]; there {
		t.Error("a fourth scope is told apart")
	}
}

func TestTheSameMetricsTwiceAreAMistakeThatIsTold(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, nil)
	must(t, err)
	if _, err := New(reg, nil); err == nil {
		t.Error("the same metrics are registered twice")
	}
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, m.Watch(g.db, g.store, nil))
	if err := m.Watch(g.db, g.store, nil); err == nil {
		t.Error("the same table is watched twice")
	}
	if err := m.Watch(g.db, g.store, &WatchOptions{Outbox: "a b"}); err == nil {
		t.Error("a malformed name is taken")
	}
	if _, err := New(reg, &Options{MaxScopes: -1}); err == nil {
		t.Error("a negative number is taken")
	}
}

func TestSweepsAreCounted(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, nil)
	must(t, err)
	m.Swept(5, errors.New("the database went away"))
	m.Swept(7, nil)
	got := scrape(t, reg)
	if got[`nebis_swept_rows_total{}`] != 12 || got[`nebis_sweeps_total{outcome="failed"}`] != 1 || got[`nebis_sweeps_total{outcome="succeeded"}`] != 1 {
		t.Errorf("got %v", got)
	}
}

// What no version has is left out, and ends nothing.
func TestAnOutcomeThatThereIsNotIsLeftOut(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, nil)
	must(t, err)
	m.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: "eaten"})
	for name, n := range scrape(t, reg) {
		if strings.HasPrefix(name, "nebis_operations_total") && n != 0 {
			t.Errorf("%s is %v", name, n)
		}
	}
}

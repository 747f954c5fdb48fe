package metrics

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ground is a Store on a database, and what is measured of it.
type ground struct {
	*testing.T
	c     dbtest.Config
	db    *sql.DB
	store *nebis.Store
	reg   *prometheus.Registry
	m     *Metrics
}

func each(t *testing.T, test func(g *ground)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { test(newGround(t, c)) })
	}
}

func newGround(t *testing.T, c dbtest.Config) *ground {
	t.Helper()
	g := &ground{T: t, c: c, db: c.Open(t), reg: prometheus.NewPedanticRegistry()}
	var err error
	g.m, err = New(g.reg, nil)
	must(t, err)
	g.store = g.another()
	_, err = g.store.Migrate(t.Context(), false)
	must(t, err)
	return g
}

// another is a Store of another process.
func (g *ground) another() *nebis.Store {
	g.Helper()
	s, err := nebis.New(g.db, g.c.Dialect, &nebis.Options{Observe: g.m.Observe, Wait: -1})
	must(g.T, err)
	return s
}

func (g *ground) exec(query string) {
	g.Helper()
	_, err := g.db.ExecContext(g.Context(), query)
	must(g.T, err)
}

// op does an operation and returns its error.
func (g *ground) op(s *nebis.Store, op nebis.Op, fn func() error) error {
	_, _, err := nebis.Do(g.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 1, fn() })
	return err
}

func well() error { return nil }

// scrape returns all values by name and labels, those of a histogram by its count.
func (g *ground) scrape() map[string]float64 { return scrape(g.T, g.reg) }

func scrape(t *testing.T, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	must(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				v = float64(h.GetSampleCount())
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return all
}

// has demands values.
func (g *ground) has(want map[string]float64) {
	g.Helper()
	got := g.scrape()
	for name, v := range want {
		if n, there := got[name]; !there || n != v {
			g.Errorf("%s is %v (there: %v), want %v", name, n, there, v)
		}
	}
}

package otelnebis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/metrics"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ground is a Store on a database, which tells OpenTelemetry and Prometheus.
type ground struct {
	*testing.T
	c     dbtest.Config
	db    *sql.DB
	store *nebis.Store

	n          *Numbers
	reader     *sdk.ManualReader
	translated *client.Registry // OpenTelemetry's numbers by its own exporter

	m   *metrics.Metrics
	reg *client.Registry
}

func each(t *testing.T, test func(g *ground)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { test(newGround(t, c)) })
	}
}

func newGround(t *testing.T, c dbtest.Config) *ground {
	t.Helper()
	g := &ground{T: t, c: c, db: c.Open(t), reader: sdk.NewManualReader(), translated: client.NewPedanticRegistry(), reg: client.NewPedanticRegistry()}
	exporter, err := prometheus.New(prometheus.WithRegisterer(g.translated), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo())
	must(t, err)
	provider := sdk.NewMeterProvider(sdk.WithReader(g.reader), sdk.WithReader(exporter))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	g.n, err = New(provider, nil)
	must(t, err)
	g.m, err = metrics.New(g.reg, nil)
	must(t, err)
	g.store = g.another()
	_, err = g.store.Migrate(t.Context(), false)
	must(t, err)
	return g
}

// another is a Store of another process, but for its numbers.
func (g *ground) another() *nebis.Store {
	g.Helper()
	both := func(ctx context.Context, e nebis.Event) {
		g.n.Observe(ctx, e)
		g.m.Observe(ctx, e)
	}
	s, err := nebis.New(g.db, g.c.Dialect, &nebis.Options{Observe: both, Wait: -1})
	must(g.T, err)
	return s
}

func (g *ground) op(s *nebis.Store, op nebis.Op, fails error) error {
	_, _, err := nebis.Do(g.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 1, fails })
	return err
}

// collect returns all values by name and attributes, those of a histogram by its count.
func (g *ground) collect() map[string]float64 {
	g.Helper()
	var all metricdata.ResourceMetrics
	must(g.T, g.reader.Collect(g.Context(), &all))
	values := map[string]float64{}
	for _, s := range all.ScopeMetrics {
		if s.Scope.Name != Scope {
			g.Errorf("the instrumentation scope is %s", s.Scope.Name)
		}
		for _, m := range s.Metrics {
			put := func(set attribute.Set, v float64) { values[m.Name+shown(set)+" "+m.Unit] = v }
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, float64(p.Count))
				}
			default:
				g.Errorf("%s is %T", m.Name, data)
			}
		}
	}
	return values
}

func shown(set attribute.Set) string {
	var parts []string
	for _, kv := range set.ToSlice() {
		parts = append(parts, fmt.Sprintf("%s=%q", kv.Key, kv.Value.AsString()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// has demands values.
func (g *ground) has(want map[string]float64) {
	g.Helper()
	got := g.collect()
	for name, v := range want {
		if n, there := got[name]; !there || n != v {
			g.Errorf("%s is %v (there: %v), want %v", name, n, there, v)
		}
	}
}

// series returns what a registry has, by name and labels; that of a histogram is its
// count and its buckets.
func (g *ground) series(reg client.Gatherer) map[string]string {
	g.Helper()
	families, err := reg.Gather()
	must(g.T, err)
	all := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			v := fmt.Sprint(f.GetType(), " ", m.GetCounter().GetValue()+m.GetGauge().GetValue())
			if h := m.GetHistogram(); h != nil {
				v = fmt.Sprint(f.GetType(), " ", h.GetSampleCount())
				for _, b := range h.GetBucket() {
					v += fmt.Sprintf(" %d<%v", b.GetCumulativeCount(), b.GetUpperBound())
				}
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v + ": " + f.GetHelp()
		}
	}
	return all
}

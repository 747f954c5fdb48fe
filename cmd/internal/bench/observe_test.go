package bench

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/metrics"
	"github.com/nebis-dev/nebis/cmd/metrics/otelnebis"
)

type observer struct {
	name string
	hook func(context.Context, nebis.Event)
}

func observers(b *testing.B) []observer {
	b.Helper()
	m, err := metrics.New(prometheus.NewRegistry(), nil)
	if err != nil {
		b.Fatal(err)
	}
	n, err := otelnebis.New(sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader())), nil)
	if err != nil {
		b.Fatal(err)
	}
	return []observer{{"unobserved", nil}, {"prometheus", m.Observe}, {"opentelemetry", n.Observe}}
}

// BenchmarkObserve is what it costs to be observed: the hook alone, and replays on
// SQLite, the quickest operations that there are, by turns without a hook and with
// each.
func BenchmarkObserve(b *testing.B) {
	for _, o := range observers(b)[1:] {
		b.Run("hook/"+o.name, func(b *testing.B) {
			e := nebis.Event{Scope: "order", Outcome: nebis.Ran, Waited: time.Millisecond, Ran: 3 * time.Millisecond}
			b.ReportAllocs()
			for b.Loop() {
				o.hook(b.Context(), e)
			}
		})
	}
	b.Run("replay", func(b *testing.B) {
		m := setUp(b, "sqlite-modernc")
		known := m.known(b)
		var ways []way
		for _, o := range observers(b) {
			store, err := nebis.New(m.db, m.d, &nebis.Options{Observe: o.hook})
			if err != nil {
				b.Fatal(err)
			}
			observed := *m
			observed.store = store
			ways = append(ways, way{o.name, observed.guarded, known})
		}
		b.ResetTimer()
		b.ReportMetric(0, "ns/op")
		takeTurns(b, 1, ways)
	})
}

package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/bounded"
	"github.com/nebis-dev/nebis/cmd/internal/figures"
	"github.com/nebis-dev/nebis/outbox"
)

// Options are what Metrics does differently from its defaults. The zero value of
// each field is its default.
type Options struct {
	// MaxScopes is how many scopes, names of calls and providers are told apart, each.
	// The ones that come after them are counted together, as "(other)". Defaults to 100.
	MaxScopes int
}

// Other is the scope of what is counted together.
const Other = bounded.Other

// Metrics counts. It is safe for use by many goroutines.
type Metrics struct {
	reg    prometheus.Registerer
	counts *figures.Counts
}

// New registers the metrics with reg. It fails where they are registered already:
// several Stores of one program share one Metrics.
func New(reg prometheus.Registerer, o *Options) (*Metrics, error) {
	if reg == nil {
		return nil, errors.New("metrics: no registerer")
	}
	if o == nil {
		o = &Options{}
	}
	s, err := newSink(reg)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	c, err := figures.NewCounts(s, o.MaxScopes)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Metrics{reg, c}, nil
}

// Observe counts one operation. It is for Options.Observe of a Store; for two
// observers a function of one's own calls both.
func (m *Metrics) Observe(ctx context.Context, e nebis.Event) { m.counts.Observe(ctx, e) }

// ObserveOutbox counts one try. It is for Options.Observe of an Outbox.
func (m *Metrics) ObserveOutbox(ctx context.Context, e outbox.Event) { m.counts.ObserveOutbox(ctx, e) }

// Callback counts what a handler of package callback answers. Provider is the
// provider's name.
func (m *Metrics) Callback(provider string, h http.Handler) http.Handler {
	return m.counts.Callback(provider, h)
}

// Swept counts a clean-up that has ended: how many rows it removed, and its error.
// Rows that it removed before it failed count as well.
func (m *Metrics) Swept(removed int, err error) { m.counts.Swept(removed, err) }

// sink is where Prometheus reads.
type sink struct {
	counters   map[*figures.Figure]*prometheus.CounterVec
	histograms map[*figures.Figure]*prometheus.HistogramVec
}

func newSink(reg prometheus.Registerer) (*sink, error) {
	s := &sink{map[*figures.Figure]*prometheus.CounterVec{}, map[*figures.Figure]*prometheus.HistogramVec{}}
	for _, f := range figures.Counted() {
		var c prometheus.Collector
		if f.Kind == figures.Counter {
			s.counters[f] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Prometheus(), Help: f.Help}, f.Labels)
			c = s.counters[f]
		} else {
			s.histograms[f] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Prometheus(), Help: f.Help, Buckets: figures.Buckets}, f.Labels)
			c = s.histograms[f]
		}
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Counter implements [figures.Sink].
func (s *sink) Counter(f *figures.Figure, labels ...string) figures.Add {
	c := s.counters[f].WithLabelValues(labels...)
	return func(_ context.Context, n int) { c.Add(float64(n)) }
}

// Histogram implements [figures.Sink].
func (s *sink) Histogram(f *figures.Figure, labels ...string) figures.Record {
	h := s.histograms[f].WithLabelValues(labels...)
	return func(_ context.Context, seconds float64) { h.Observe(seconds) }
}

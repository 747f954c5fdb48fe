package otelnebis

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/bounded"
	"github.com/nebis-dev/nebis/cmd/internal/figures"
	"github.com/nebis-dev/nebis/outbox"
)

// Scope is the instrumentation scope.
const Scope = "github.com/nebis-dev/nebis/cmd/metrics/otelnebis"

// Options are what Numbers does differently from its defaults. The zero value of
// each field is its default.
type Options struct {
	// MaxScopes is how many scopes, names of calls and providers are told apart, each.
	// The ones that come after them are counted together, as "(other)". Defaults to 100.
	MaxScopes int
}

// Other is the scope of what is counted together.
const Other = bounded.Other

// Numbers counts. It is safe for use by many goroutines.
type Numbers struct {
	meter  metric.Meter
	counts *figures.Counts

	mu      sync.Mutex
	watched map[string]bool // tables
}

// New makes the instruments with a meter of the provider. Several Stores of one
// program share one Numbers.
func New(p metric.MeterProvider, o *Options) (*Numbers, error) {
	if p == nil {
		return nil, errors.New("otelnebis: no provider")
	}
	if o == nil {
		o = &Options{}
	}
	n := &Numbers{meter: p.Meter(Scope), watched: map[string]bool{}}
	s, err := newSink(n.meter)
	if err == nil {
		n.counts, err = figures.NewCounts(s, o.MaxScopes)
	}
	if err != nil {
		return nil, fmt.Errorf("otelnebis: %w", err)
	}
	return n, nil
}

// Observe counts one operation. It is for Options.Observe of a Store; for two
// observers a function of one's own calls both.
func (n *Numbers) Observe(ctx context.Context, e nebis.Event) { n.counts.Observe(ctx, e) }

// ObserveOutbox counts one try. It is for Options.Observe of an Outbox.
func (n *Numbers) ObserveOutbox(ctx context.Context, e outbox.Event) { n.counts.ObserveOutbox(ctx, e) }

// Callback counts what a handler of package callback answers. Provider is the
// provider's name.
func (n *Numbers) Callback(provider string, h http.Handler) http.Handler {
	return n.counts.Callback(provider, h)
}

// Swept counts a clean-up that has ended: how many rows it removed, and its error.
// Rows that it removed before it failed count as well.
func (n *Numbers) Swept(removed int, err error) { n.counts.Swept(removed, err) }

// sink is where OpenTelemetry reads.
type sink struct {
	counters   map[*figures.Figure]metric.Int64Counter
	histograms map[*figures.Figure]metric.Float64Histogram
}

func newSink(m metric.Meter) (*sink, error) {
	s := &sink{map[*figures.Figure]metric.Int64Counter{}, map[*figures.Figure]metric.Float64Histogram{}}
	for _, f := range figures.Counted() {
		var err error
		if f.Kind == figures.Counter {
			s.counters[f], err = m.Int64Counter(f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Help))
		} else {
			s.histograms[f], err = m.Float64Histogram(f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Help),
				metric.WithExplicitBucketBoundaries(figures.Buckets...))
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Counter implements [figures.Sink].
func (s *sink) Counter(f *figures.Figure, labels ...string) figures.Add {
	c, with := s.counters[f], []metric.AddOption{attributes(f, labels)} // made once, not at each operation
	c.Add(context.Background(), 0, with...)
	return func(ctx context.Context, n int) { c.Add(ctx, int64(n), with...) }
}

// Histogram implements [figures.Sink].
func (s *sink) Histogram(f *figures.Figure, labels ...string) figures.Record {
	h, with := s.histograms[f], []metric.RecordOption{attributes(f, labels)}
	return func(ctx context.Context, seconds float64) { h.Record(ctx, seconds, with...) }
}

func attributes(f *figures.Figure, values []string, more ...attribute.KeyValue) metric.MeasurementOption {
	for i, label := range f.Labels {
		more = append(more, attribute.String(label, values[i]))
	}
	return metric.WithAttributeSet(attribute.NewSet(more...))
}

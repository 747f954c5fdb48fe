package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/bounded"
	"github.com/nebis-dev/nebis/outbox"
)

// tries are what an outbox has done.
type tries struct {
	names *bounded.Set
	ended *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// What becomes of a try: what the call is in now, and two ways to have no result.
const (
	tryLost        = "lost"        // another worker has the call, nothing was saved
	tryUnreachable = "unreachable" // the database could not be asked
)

func tryOutcomes() []string {
	return []string{string(outbox.Done), string(outbox.Failed), string(outbox.Compensating), string(outbox.Compensated), string(outbox.Dead), tryLost, tryUnreachable}
}

func newTries(most int) tries {
	t := tries{
		names: bounded.New(most),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_outbox_tries_total",
			Help: "Tries of calls of the outbox, by name and by what the call is in then: done, failed, compensating, compensated, dead; or lost, unreachable."},
			[]string{"name", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "nebis_outbox_try_seconds", Buckets: seconds,
			Help: "How long a try of a call took."}, []string{"name"}),
	}
	t.begin("") // without a name: sums are 0, not nothing, where there is no outbox
	return t
}

func (t *tries) begin(name string) {
	for _, out := range tryOutcomes() {
		t.ended.WithLabelValues(name, out)
	}
	t.took.WithLabelValues(name)
}

func (t *tries) all() []prometheus.Collector { return []prometheus.Collector{t.ended, t.took} }

// ObserveOutbox counts one try. It is for Options.Observe of an Outbox.
func (m *Metrics) ObserveOutbox(_ context.Context, e outbox.Event) {
	t := &m.tries
	if e.ID == 0 {
		t.ended.WithLabelValues("", tryUnreachable).Inc()
		return
	}
	name, fresh := t.names.Label(e.Name)
	if fresh {
		t.begin(name)
	}
	outcome := string(e.State)
	if errors.Is(e.Err, nebis.ErrLost) {
		outcome = tryLost
	}
	t.ended.WithLabelValues(name, outcome).Inc()
	t.took.WithLabelValues(name).Observe(e.Took.Seconds())
}

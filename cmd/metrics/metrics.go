package metrics

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/bounded"
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
	reg        prometheus.Registerer
	operations operations
	tries      tries
	callbacks  callbacks
	sweeps     sweeps
}

// New registers the metrics with reg. It fails where they are registered already:
// several Stores of one program share one Metrics.
func New(reg prometheus.Registerer, o *Options) (*Metrics, error) {
	most := 100
	switch {
	case reg == nil:
		return nil, errors.New("metrics: no registerer")
	case o != nil && o.MaxScopes < 0:
		return nil, errors.New("metrics: MaxScopes is negative")
	case o != nil && o.MaxScopes > 0:
		most = o.MaxScopes
	}
	m := &Metrics{reg: reg, operations: newOperations(most), tries: newTries(most), callbacks: newCallbacks(most), sweeps: newSweeps()}
	for _, all := range [][]prometheus.Collector{m.operations.all(), m.tries.all(), m.callbacks.all(), m.sweeps.all()} {
		for _, c := range all {
			if err := reg.Register(c); err != nil {
				return nil, fmt.Errorf("metrics: %w", err)
			}
		}
	}
	return m, nil
}

// Buckets of times, in seconds: from a replay out of memory to a wait that a person
// has given up.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// operations are what a Store has done.
type operations struct {
	scopes        *bounded.Set
	ended         *prometheus.CounterVec
	repeated      *prometheus.CounterVec
	waited, lasts *prometheus.HistogramVec
}

func newOperations(most int) operations {
	return operations{
		scopes: bounded.New(most),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_operations_total",
			Help: "Operations that have ended, by scope and outcome: ran, took-over, replayed-memory, replayed-table, released, in-progress, mismatch, not-kept, unknown, lost, failed."},
			[]string{"scope", "outcome"}),
		repeated: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_claims_repeated_total",
			Help: "Claims that were sent again after a deadlock, a row that went away or a time-out."}, []string{"scope"}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "nebis_operation_wait_seconds", Buckets: seconds,
			Help: "From the call to the start of the function, or to the end where it did not run."}, []string{"scope"}),
		lasts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "nebis_operation_run_seconds", Buckets: seconds,
			Help: "Inside the function, where it ran."}, []string{"scope"}),
	}
}

func (o *operations) all() []prometheus.Collector {
	return []prometheus.Collector{o.ended, o.repeated, o.waited, o.lasts}
}

// Observe counts one operation. It is for Options.Observe of a Store; for two
// observers a function of one's own calls both.
func (m *Metrics) Observe(_ context.Context, e nebis.Event) {
	o := &m.operations
	scope, fresh := o.scopes.Label(e.Scope)
	if fresh { // at zero, or the first of its kind would not be seen to increase anything
		for _, out := range nebis.Outcomes() {
			o.ended.WithLabelValues(scope, string(out))
		}
	}
	o.ended.WithLabelValues(scope, string(e.Outcome)).Inc()
	o.repeated.WithLabelValues(scope).Add(float64(e.Reclaims))
	o.waited.WithLabelValues(scope).Observe(e.Waited.Seconds())
	if e.Ran > 0 {
		o.lasts.WithLabelValues(scope).Observe(e.Ran.Seconds())
	}
}

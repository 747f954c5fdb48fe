package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis/cmd/internal/bounded"
)

// callbacks are what providers were answered.
type callbacks struct {
	providers *bounded.Set
	answers   *prometheus.CounterVec
}

// What a provider was told.
const (
	acknowledged = "acknowledged"
	refused      = "refused" // malformed, or its signature does not hold
	busy         = "busy"    // under way, or the database is away: it sends again
	failed       = "failed"  // the function has failed: it sends again
)

func newCallbacks(most int) callbacks {
	c := callbacks{bounded.New(most), prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_callback_answers_total",
		Help: "Answers to providers' callbacks, by provider and outcome: acknowledged, refused (malformed, or a signature that does not hold), busy, failed."},
		[]string{"provider", "outcome"})}
	c.begin("") // as in newTries
	return c
}

func (c *callbacks) begin(provider string) {
	for _, out := range []string{acknowledged, refused, busy, failed} {
		c.answers.WithLabelValues(provider, out)
	}
}

func (c *callbacks) all() []prometheus.Collector { return []prometheus.Collector{c.answers} }

// Callback counts what a handler of package callback answers. Provider is the
// provider's name.
func (m *Metrics) Callback(provider string, h http.Handler) http.Handler {
	c := &m.callbacks
	name, fresh := c.providers.Label(provider)
	if fresh {
		c.begin(name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &status{ResponseWriter: w, code: http.StatusOK}
		h.ServeHTTP(s, r)
		c.answers.WithLabelValues(name, answered(s.code)).Inc()
	})
}

func answered(code int) string {
	switch {
	case code < http.StatusBadRequest:
		return acknowledged
	case code == http.StatusServiceUnavailable:
		return busy
	case code < http.StatusInternalServerError:
		return refused
	}
	return failed
}

// status remembers what is answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController see through it.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

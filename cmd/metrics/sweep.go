package metrics

import "github.com/prometheus/client_golang/prometheus"

// sweeps are the clean-ups that this process has made.
type sweeps struct {
	ended   *prometheus.CounterVec
	removed prometheus.Counter
	last    prometheus.Gauge
}

func newSweeps() sweeps {
	s := sweeps{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_sweeps_total",
			Help: "Clean-ups of this process, by outcome: succeeded, failed."}, []string{"outcome"}),
		removed: prometheus.NewCounter(prometheus.CounterOpts{Name: "nebis_swept_rows_total",
			Help: "Expired rows that this process has removed."}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{Name: "nebis_sweep_last_success_timestamp_seconds",
			Help: "When a clean-up of this process last came to its end, in seconds since 1970; 0: it has made none."}),
	}
	s.ended.WithLabelValues("succeeded")
	s.ended.WithLabelValues("failed")
	return s
}

func (s *sweeps) all() []prometheus.Collector {
	return []prometheus.Collector{s.ended, s.removed, s.last}
}

// Swept counts a clean-up that has ended: how many rows it removed, and its error.
// Rows that it removed before it failed count as well.
func (m *Metrics) Swept(removed int, err error) {
	s := &m.sweeps
	s.removed.Add(float64(removed))
	if err != nil {
		s.ended.WithLabelValues("failed").Inc()
		return
	}
	s.ended.WithLabelValues("succeeded").Inc()
	s.last.SetToCurrentTime()
}

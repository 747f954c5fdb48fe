package metrics

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/figures"
	"github.com/nebis-dev/nebis/cmd/internal/gauges"
)

// WatchOptions are what Watch does differently from its defaults. The zero value of
// each field is its default.
type WatchOptions struct {
	// Outbox is the outbox's table, where there is one. Defaults to "outbox".
	Outbox string

	// Every is how often the database is asked at most, however often somebody
	// scrapes. Defaults to 15 seconds.
	Every time.Duration

	// Timeout bounds one look at the database. Defaults to 5 seconds; Prometheus
	// itself waits for 10.
	Timeout time.Duration
}

// Watch registers the gauges of a Store: what it does at this moment in this process,
// what is in its table, in the outbox of the same database, and which callbacks have
// failed. They have the table's name as a label. A look takes one connection of db at
// a time. Where the database does not answer, nebis_table_read_success is 0 and the
// gauges that come from it are left out.
func (m *Metrics) Watch(db *sql.DB, store *nebis.Store, o *WatchOptions) error {
	var g gauges.Options
	if o != nil {
		g = gauges.Options{Outbox: o.Outbox, Every: o.Every, Timeout: o.Timeout}
	}
	r, err := gauges.New(db, store, g)
	if err == nil {
		reg := prometheus.WrapRegistererWith(prometheus.Labels{"table": r.Table()}, m.reg)
		err = reg.Register(newWatched(r))
	}
	if err != nil {
		return fmt.Errorf("metrics: watch: %w", err)
	}
	return nil
}

// watched is a Reader as Prometheus wants it.
type watched struct {
	*gauges.Reader
	descs map[*figures.Figure]*prometheus.Desc
}

func newWatched(r *gauges.Reader) *watched {
	w := &watched{r, map[*figures.Figure]*prometheus.Desc{}}
	for _, f := range figures.Watched() {
		w.descs[f] = prometheus.NewDesc(f.Prometheus(), f.Help, f.Labels, nil)
	}
	return w
}

// Describe implements [prometheus.Collector].
func (w *watched) Describe(to chan<- *prometheus.Desc) {
	for _, d := range w.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (w *watched) Collect(to chan<- prometheus.Metric) {
	figures.Read(w.Reader, func(f *figures.Figure, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(w.descs[f], prometheus.GaugeValue, v, labels...)
	})
}

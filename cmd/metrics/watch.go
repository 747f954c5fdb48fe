package metrics

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis"
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
		err = reg.Register(&watched{r})
	}
	if err != nil {
		return fmt.Errorf("metrics: watch: %w", err)
	}
	return nil
}

// watched is a Reader as Prometheus wants it.
type watched struct{ *gauges.Reader }

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nebis_"+name, help, labels, nil)
}

var (
	running = gauge("operations_running", "Operations under way in this process.")
	waiting = gauge("duplicates_waiting", "Duplicates that wait in this process for an operation under way.")
	stuck   = gauge("operations_stuck", "Operations of this process that have been under way for more than 60 seconds.")
	oldest  = gauge("oldest_running_seconds", "Since the oldest operation under way in this process began.")

	readOK    = gauge("table_read_success", "Whether the database has answered: without it the gauges of the table are missing.")
	readTook  = gauge("table_read_seconds", "How long it took to read them, the last time.")
	rows      = gauge("table_rows", "Rows by state. Done: above 10,000 rows as the database estimates it, keys that were freed among them. Expired: waiting for clean-up, up to 10,000. In progress (leases) and unknown: among the newest rows and those that were looked at in turn, up to 1,000.", "state")
	oldestRow = gauge("table_oldest_processing_seconds", "Since the oldest row that is in progress or unknown was claimed.")
	lag       = gauge("table_cleanup_lag_seconds", "Since the first row expired that has not been removed.")
	calls     = gauge("outbox_calls", "Calls of the outbox that are not over, by state, up to 10,000 each.", "state")
	callsLag  = gauge("outbox_oldest_due_seconds", "Since the first call of the outbox was due that nobody has made.")
	failures  = gauge("callback_failures", "Deliveries of callbacks that have failed and were not done since, up to 10,000.")
)

// Describe implements [prometheus.Collector].
func (w *watched) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{running, waiting, stuck, oldest, readOK, readTook, rows, oldestRow, lag, calls, callsLag, failures} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (w *watched) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := w.Now()
	send(running, float64(now.Running))
	send(waiting, float64(now.Waiting))
	send(stuck, float64(now.Stuck))
	send(oldest, now.Oldest.Seconds())
	n := w.Read()
	send(readTook, n.Took.Seconds())
	if n.Err != nil {
		send(readOK, 0)
		return
	}
	send(readOK, 1)
	for state, times := range n.Rows {
		send(rows, float64(times), strings.ReplaceAll(string(state), " ", "-"))
	}
	send(oldestRow, n.Oldest.Seconds())
	send(lag, n.CleanupLag.Seconds())
	for state, times := range n.Calls {
		send(calls, float64(times), string(state))
	}
	send(callsLag, n.CallsLag.Seconds())
	send(failures, float64(n.Failures))
}

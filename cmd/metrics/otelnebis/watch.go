package otelnebis

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/figures"
	"github.com/nebis-dev/nebis/cmd/internal/gauges"
)

// WatchOptions are what Watch does differently from its defaults. The zero value of
// each field is its default.
type WatchOptions struct {
	// Outbox is the outbox's table, where there is one. Defaults to "outbox".
	Outbox string

	// Every is how often the database is asked at most, however often a reader
	// collects. Defaults to 15 seconds.
	Every time.Duration

	// Timeout bounds one look at the database. Defaults to 5 seconds.
	Timeout time.Duration
}

// Watch adds the gauges of a Store: what it does at this moment in this process, what
// is in its table, in the outbox of the same database, and which callbacks have
// failed. They have the table's name as an attribute. A look takes one connection of
// db at a time. Where the database does not answer, nebis.table.read_success is 0 and
// the gauges that come from it are left out. They end with the provider.
func (n *Numbers) Watch(db *sql.DB, store *nebis.Store, o *WatchOptions) error {
	var g gauges.Options
	if o != nil {
		g = gauges.Options{Outbox: o.Outbox, Every: o.Every, Timeout: o.Timeout}
	}
	r, err := gauges.New(db, store, g)
	if err == nil {
		err = n.watch(r)
	}
	if err != nil {
		return fmt.Errorf("otelnebis: watch: %w", err)
	}
	return nil
}

func (n *Numbers) watch(r *gauges.Reader) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watched[r.Table()] {
		return fmt.Errorf("%s is watched already", r.Table())
	}
	made := map[*figures.Figure]metric.Float64ObservableGauge{}
	var all []metric.Observable
	for _, f := range figures.Watched() {
		g, err := n.meter.Float64ObservableGauge(f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Help))
		if err != nil {
			return err
		}
		made[f], all = g, append(all, g)
	}
	table := attribute.String("table", r.Table())
	_, err := n.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		figures.Read(r, func(f *figures.Figure, v float64, labels ...string) {
			to.ObserveFloat64(made[f], v, attributes(f, labels, table))
		})
		return nil
	}, all...)
	n.watched[r.Table()] = err == nil
	return err
}

// Package otelnebis tells OpenTelemetry what a Store does: the numbers of package
// metrics, through the same hooks.
//
//	n, err := otelnebis.New(otel.GetMeterProvider(), nil)
//	store, err := nebis.New(db, nebis.MySQL, &nebis.Options{Observe: n.Observe})
//	err = n.Watch(db, store, nil)
//
// It needs the API of OpenTelemetry only; reader, exporter and resource are those of
// the program's provider. Counting takes no part in a claim and costs nothing in the
// database. The gauges of [Numbers.Watch] ask the database when a reader collects, at
// most every 15 seconds, with queries that take a bounded time whatever the table's
// size. No key and no owner is ever in an attribute, and no attribute has an unbounded
// number of values.
//
// Names are chosen so that the usual translation to Prometheus gives those of package
// metrics: the alerts and the dashboard of deploy/ serve both.
package otelnebis

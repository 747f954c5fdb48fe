// Package metrics shows Prometheus what a Store does: operations by scope and
// outcome, how long they wait and run, what is in the table, the outbox and the
// callbacks.
//
//	m, err := metrics.New(prometheus.DefaultRegisterer, nil)
//	store, err := nebis.New(db, nebis.MySQL, &nebis.Options{Observe: m.Observe})
//	err = m.Watch(db, store, nil)
//	http.Handle("GET /metrics", promhttp.Handler()) // where the public cannot reach it
//
// Counting takes no part in a claim and costs nothing in the database. The gauges of [Metrics.Watch] ask the database when somebody scrapes, at
// most every 15 seconds, with queries that take a bounded time whatever the table's
// size; large numbers in them are estimates. No key and no owner is ever in a label,
// and no label has an unbounded number of values.
package metrics

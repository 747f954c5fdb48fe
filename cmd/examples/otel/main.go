// A shop that tells OpenTelemetry its numbers: the second program of docs/metrics.md.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"

	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/sdk/metric"
	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/metrics/otelnebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

func main() {
	db := must(sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`))

	// Printed, each OTEL_METRIC_EXPORT_INTERVAL milliseconds: a minute by default. For a
	// collector take otlpmetrichttp or otlpmetricgrpc in place of stdoutmetric.
	exporter := must(stdoutmetric.New())
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)))

	numbers := must(otelnebis.New(provider, nil))
	store := must(nebis.New(db, nebis.SQLite, &nebis.Options{Observe: numbers.Observe}))
	must(store.Migrate(context.Background(), false))
	check(numbers.Watch(db, store, nil))

	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil }, nil)
	http.Handle("POST /orders", m.Tx("order", func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item) VALUES (?)`, r.FormValue("item"))
		if err != nil {
			return err
		}
		id, _ := res.LastInsertId()
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", id))
		return nil
	}, nil))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A shop that charges its orders after the commit: the complete program of
// docs/outbox.md.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
	"github.com/nebis-dev/nebis/outbox"
)

type charge struct{ Order int64 }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db := must(sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, state TEXT NOT NULL)`))
	store := must(nebis.New(db, nebis.SQLite, nil))
	must(store.Migrate(ctx, false))
	calls := must(outbox.New(db, nebis.SQLite, nil))
	check(calls.Migrate(ctx)) // makes the table "outbox"
	calls.Handle("charge", outbox.Call{Do: pay(db), Compensate: cancel})

	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil }, nil)
	http.Handle("POST /orders", m.Tx("order", func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item, state) VALUES (?, 'placed')`, r.FormValue("item"))
		if err != nil {
			return err
		}
		id, _ := res.LastInsertId()
		if _, err := calls.Add(r.Context(), tx, "charge", charge{id}); err != nil {
			return err // no order without its call
		}
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", id))
		return nil // committed: order, call and answer together
	}, nil))
	http.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		var state string
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err := db.QueryRowContext(r.Context(), `SELECT state FROM orders WHERE id = ?`, id).Scan(&state); err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "order %d is %s", id, state)
	})
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil)) }()
	check(calls.Run(ctx)) // until Ctrl-C, and until the calls under way have ended
}

// pay makes the call. It may run again, always with the same key, so what it does
// here must not mind being done twice.
func pay(db *sql.DB) func(context.Context, *outbox.Job) (any, error) {
	return func(ctx context.Context, j *outbox.Job) (any, error) {
		var c charge
		if err := j.Decode(&c); err != nil {
			return nil, outbox.Permanent(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("PAYMENTS"), bytes.NewReader(j.Payload))
		if err != nil {
			return nil, outbox.Permanent(err)
		}
		req.Header.Set("Idempotency-Key", j.Key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err // no answer: try again
		}
		defer res.Body.Close()
		switch {
		case res.StatusCode == http.StatusTooManyRequests:
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			return nil, outbox.RetryAfter(time.Duration(seconds)*time.Second, fmt.Errorf("payments: %s", res.Status))
		case res.StatusCode == http.StatusPaymentRequired:
			return nil, outbox.Permanent(fmt.Errorf("payments: %s", res.Status))
		case res.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("payments: %s", res.Status)
		}
		_, err = db.ExecContext(ctx, `UPDATE orders SET state = 'paid' WHERE id = ? AND state = 'placed'`, c.Order)
		return nil, err
	}
}

// cancel is the compensation: it commits together with the state of the call.
func cancel(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
	var c charge
	if err := j.Decode(&c); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE orders SET state = 'cancelled' WHERE id = ? AND state = 'placed'`, c.Order)
	return err
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

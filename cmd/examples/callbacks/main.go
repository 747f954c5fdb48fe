// A shop whose orders are paid at a payment service: its callback and the page that
// the customer comes back to complete the same order, once.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"os"

	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
)

func main() {
	ctx := context.Background()
	db := must(sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE IF NOT EXISTS orders (number TEXT PRIMARY KEY, cents INTEGER NOT NULL, status TEXT NOT NULL, points INTEGER NOT NULL)`))
	must(db.Exec(`INSERT INTO orders VALUES ('1001', 8800, 'pending', 0) ON CONFLICT DO NOTHING`))
	store := must(nebis.New(db, nebis.SQLite, nil))
	must(store.Migrate(ctx, false))
	must(0, callback.Migrate(ctx, db, store)) // for the deliveries that fail

	// paid completes an order. Both ways lead here.
	paid := func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
		if e.State != callback.Paid {
			return nil // a notice of something else: heard, nothing to do
		}
		_, err := callback.Once(ctx, store, tx, "paid", e, func(ctx context.Context) error {
			moved, err := callback.Moved(tx.ExecContext(ctx,
				`UPDATE orders SET status = 'paid', points = points + ? WHERE number = ? AND cents = ? AND status = 'pending'`,
				e.Amount/100, e.Order, e.Amount))
			if err == nil && !moved {
				// Money without an order is for a person: it is sent again, and is noted.
				return fmt.Errorf("no pending order %s of %d cents", e.Order, e.Amount)
			}
			return err
		})
		return err
	}

	epay := callback.Epay(os.Getenv("EPAY_PID"), os.Getenv("EPAY_KEY"))
	http.Handle("GET /notify", callback.Handler(store, epay, paid, nil))
	http.HandleFunc("GET /return", func(w http.ResponseWriter, r *http.Request) {
		e, err := epay.Return(r)
		if err == nil {
			err = store.Tx(r.Context(), func(ctx context.Context, tx *sql.Tx) error { return paid(ctx, tx, e) })
		}
		if err != nil {
			http.Error(w, "Thank you. Your payment is being checked; this page will show it.", http.StatusAccepted)
			return
		}
		http.Redirect(w, r, "/orders/"+e.Order, http.StatusSeeOther)
	})
	http.HandleFunc("GET /orders/{number}", func(w http.ResponseWriter, r *http.Request) {
		var status string
		var points int
		if err := db.QueryRowContext(r.Context(), `SELECT status, points FROM orders WHERE number = ?`, r.PathValue("number")).Scan(&status, &points); err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "%s, %d points", status, points)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

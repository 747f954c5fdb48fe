// A shop in one file: the README's complete program.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"

	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

func main() {
	db := must(sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`))
	store := must(nebis.New(db, nebis.SQLite, nil))
	must(store.Migrate(context.Background(), false)) // makes the table "idempotency"
	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil }, nil)

	http.Handle("POST /orders", m.Tx("order", func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item) VALUES (?)`, r.FormValue("item"))
		if err != nil {
			return err // nothing happened, the key is free
		}
		id, _ := res.LastInsertId()
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", id))
		return nil // committed: order and answer together
	}, nil))
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		key := nebishttp.Field(w, r)
		fmt.Fprintf(w, `<!doctype html><form method="post" action="/orders">%s<input name="item" value="tea"><button>Order</button></form>`, key)
	})
	http.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "order %s is yours", r.PathValue("id"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A shop whose orders can be cancelled, and what a repeated request is told then.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"

	_ "modernc.org/sqlite"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Accepted is the answer to an order: what stays true. The state is asked by id.
type Accepted struct {
	Accepted bool  `json:"accepted"`
	ID       int64 `json:"id"`
}

func main() {
	db := must(sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, status TEXT NOT NULL)`))
	store := must(nebis.New(db, nebis.SQLite, nil))
	must(store.Migrate(context.Background(), false))
	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil }, nil)

	http.Handle("POST /orders", m.Tx("order", place, &nebishttp.Route{Required: true, Recheck: stands}))
	http.HandleFunc("POST /orders/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		// The statement says itself when it no longer applies: it needs no key.
		_, err := db.ExecContext(r.Context(), `UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'new'`, r.PathValue("id"))
		if err != nil {
			http.Error(w, "not cancelled", http.StatusInternalServerError)
		}
	})
	http.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		var status string
		if err := db.QueryRowContext(r.Context(), `SELECT status FROM orders WHERE id = ?`, r.PathValue("id")).Scan(&status); err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"status":%q}`, status)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}

func place(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item, status) VALUES (?, 'new')`, r.FormValue("item"))
	if err != nil {
		return err
	}
	id, _ := res.LastInsertId()
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", id))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	return json.NewEncoder(w).Encode(Accepted{true, id})
}

// stands looks at the order before its answer is shown again. True: show it as it is.
// False: forget it, and place the order anew.
func stands(ctx context.Context, tx *sql.Tx, status int, header http.Header, body []byte) (replay bool, err error) {
	var a Accepted
	if err := json.Unmarshal(body, &a); err != nil {
		return false, err
	}
	var state string
	err = tx.QueryRowContext(ctx, `SELECT status FROM orders WHERE id = ?`, a.ID).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil // removed: nothing is there that the answer could be about
	}
	return state != "cancelled", err
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

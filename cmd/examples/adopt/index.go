package main

import (
	"crypto/rand"
	"database/sql"
	"html/template"
	"net/http"
)

// Columns and indexes of step 2. Rows from before have no form_key: an index lets any number of those in.
const indexes = `
ALTER TABLE orders ADD COLUMN form_key TEXT;
CREATE UNIQUE INDEX orders_once  ON orders (visitor, form_key);
CREATE UNIQUE INDEX coupons_once ON coupons (visitor, campaign);
CREATE UNIQUE INDEX points_once  ON points (trade_no);`

// Step 2: what is dearest cannot be written twice. The ticket stays as it was.
func index(mux *http.ServeMux, db *sql.DB) error {
	forms(mux, func(w http.ResponseWriter, _ *http.Request) template.HTML {
		w.Header().Set("Cache-Control", "no-store") // no two visitors get one key from a cache
		return template.HTML(`<input type="hidden" name="idempotency_key" value="` + rand.Text() + `" autocomplete="off">`)
	})
	mux.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		who, item, key := visitor(r), r.FormValue("item"), r.FormValue("idempotency_key")
		if key == "" {
			http.Error(w, "Please open the form again.", http.StatusBadRequest)
			return
		}
		_, err := db.Exec(`INSERT INTO orders (visitor, item, form_key) VALUES (?, ?, ?)
			ON CONFLICT (visitor, form_key) DO NOTHING`, who, item, key)
		var first string // this order, or the one that the form has made before
		if err == nil {
			err = db.QueryRow(`SELECT item FROM orders WHERE visitor = ? AND form_key = ?`, who, key).Scan(&first)
		}
		switch {
		case err != nil:
			failed(w, err)
		case first != item:
			http.Error(w, "This form was already sent, with something else in it. Please open it again.", http.StatusUnprocessableEntity)
		default:
			http.Redirect(w, r, "/thanks/order", http.StatusSeeOther)
		}
	})
	mux.HandleFunc("POST /coupon", func(w http.ResponseWriter, r *http.Request) {
		if _, err := db.Exec(`INSERT INTO coupons (visitor, campaign) VALUES (?, ?)
			ON CONFLICT (visitor, campaign) DO NOTHING`, visitor(r), r.FormValue("campaign")); err != nil {
			failed(w, err)
			return
		}
		http.Redirect(w, r, "/thanks/coupon", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /paid", func(w http.ResponseWriter, r *http.Request) {
		// What else a payment does belongs into one transaction with this row, and only where it was written.
		if _, err := db.Exec(`INSERT INTO points (trade_no, points) VALUES (?, 88)
			ON CONFLICT (trade_no) DO NOTHING`, r.FormValue("trade_no")); err != nil {
			failed(w, err)
			return
		}
		w.Write([]byte("success")) // also the second time, or it comes for ever
	})
	mux.HandleFunc("POST /ticket", func(w http.ResponseWriter, r *http.Request) {
		if _, err := db.Exec(`INSERT INTO tickets (visitor, question) VALUES (?, ?)`, visitor(r), r.FormValue("question")); err != nil {
			failed(w, err)
			return
		}
		http.Redirect(w, r, "/thanks/ticket", http.StatusSeeOther)
	})
	return addIndexes(db)
}

// addIndexes makes them, unless an earlier start has.
func addIndexes(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var there int
	if err := tx.QueryRow(`SELECT COUNT(*) FROM pragma_table_info('orders') WHERE name = 'form_key'`).Scan(&there); err != nil || there == 1 {
		return err
	}
	if _, err := tx.Exec(indexes); err != nil {
		return err
	}
	return tx.Commit()
}

package main

import (
	"context"
	"database/sql"
	"html/template"
	"net/http"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Step 3: one table for every form. The indexes of step 2 stay where the business has the rule.
func table(mux *http.ServeMux, db *sql.DB) error {
	store, err := nebis.New(db, nebis.SQLite, nil)
	if err != nil {
		return err
	}
	if _, err := store.Migrate(context.Background(), false); err != nil {
		return err
	}
	m := nebishttp.New(store, func(r *http.Request) (string, error) { return visitor(r), nil }, nil)
	required := &nebishttp.Route{Required: true}
	once := func(what string, work func(r *http.Request, tx *sql.Tx) error) {
		mux.Handle("POST /"+what, m.Tx(what, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
			if err := work(r, tx); err != nil {
				return err // nothing happened, the key is free
			}
			nebishttp.SeeOther(w, r, "/thanks/"+what)
			return nil
		}, required))
	}
	once("order", func(r *http.Request, tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO orders (visitor, item) VALUES (?, ?)`, visitor(r), r.FormValue("item"))
		return err
	})
	once("coupon", func(r *http.Request, tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO coupons (visitor, campaign) VALUES (?, ?)
			ON CONFLICT (visitor, campaign) DO NOTHING`, visitor(r), r.FormValue("campaign"))
		return err
	})
	once("ticket", func(r *http.Request, tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO tickets (visitor, question) VALUES (?, ?)`, visitor(r), r.FormValue("question"))
		return err
	})
	mux.HandleFunc("POST /paid", func(w http.ResponseWriter, r *http.Request) {
		op := nebis.Op{Scope: "paid", Owner: nebis.Anyone, Key: r.FormValue("trade_no"), Keep: 35 * 24 * time.Hour}
		if _, _, err := nebis.Do(r.Context(), store, op, func(_ context.Context, tx *sql.Tx) (int, error) {
			_, err := tx.Exec(`INSERT INTO points (trade_no, points) VALUES (?, 88) ON CONFLICT (trade_no) DO NOTHING`, op.Key)
			return 88, err
		}); err != nil {
			failed(w, err)
			return
		}
		w.Write([]byte("success"))
	})
	forms(mux, func(w http.ResponseWriter, r *http.Request) template.HTML { return key(w, r, db) })
	return addIndexes(db)
}

// key is a new one for every form; that of an order is made from the visitor's last
// order, so that two tabs which have seen the same are one order.
func key(w http.ResponseWriter, r *http.Request, db *sql.DB) template.HTML {
	if r.URL.Path != "/order" {
		return nebishttp.Field(w, r)
	}
	var last int64
	if err := db.QueryRow(`SELECT COALESCE(MAX(id), 0) FROM orders WHERE visitor = ?`, visitor(r)).Scan(&last); err != nil {
		return nebishttp.Field(w, r)
	}
	return nebishttp.FieldKey(w, r, nebishttp.BusinessKey("after-order", last, r.FormValue("item")))
}

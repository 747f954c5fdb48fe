package main

import (
	"database/sql"
	"html/template"
	"net/http"
)

// Step 0, as many shops are: whatever comes is written, and answered with a page.
func before(mux *http.ServeMux, db *sql.DB) error {
	forms(mux, func(http.ResponseWriter, *http.Request) template.HTML { return "" })
	write(mux, db, func(w http.ResponseWriter, _ *http.Request, what string) { thanks(w, what) })
	return nil
}

// write has what the shop writes; answer is what a visitor gets for it.
func write(mux *http.ServeMux, db *sql.DB, answer func(w http.ResponseWriter, r *http.Request, what string)) {
	do := func(w http.ResponseWriter, r *http.Request, what, query string, values ...any) {
		if _, err := db.Exec(query, values...); err != nil {
			failed(w, err)
			return
		}
		answer(w, r, what)
	}
	mux.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		do(w, r, "order", `INSERT INTO orders (visitor, item) VALUES (?, ?)`, visitor(r), r.FormValue("item"))
	})
	mux.HandleFunc("POST /coupon", func(w http.ResponseWriter, r *http.Request) {
		do(w, r, "coupon", `INSERT INTO coupons (visitor, campaign) VALUES (?, ?)`, visitor(r), r.FormValue("campaign"))
	})
	mux.HandleFunc("POST /ticket", func(w http.ResponseWriter, r *http.Request) {
		do(w, r, "ticket", `INSERT INTO tickets (visitor, question) VALUES (?, ?)`, visitor(r), r.FormValue("question"))
	})
	// The payment service's callback. A real one checks the signature first.
	mux.HandleFunc("POST /paid", func(w http.ResponseWriter, r *http.Request) {
		if _, err := db.Exec(`INSERT INTO points (trade_no, points) VALUES (?, 88)`, r.FormValue("trade_no")); err != nil {
			failed(w, err)
			return
		}
		w.Write([]byte("success"))
	})
}

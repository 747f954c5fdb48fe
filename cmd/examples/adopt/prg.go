package main

import (
	"database/sql"
	"html/template"
	"net/http"
)

// Step 1: the same writes, but every form is answered with 303 and a page of its own.
func prg(mux *http.ServeMux, db *sql.DB) error {
	forms(mux, func(http.ResponseWriter, *http.Request) template.HTML { return "" })
	write(mux, db, func(w http.ResponseWriter, r *http.Request, what string) {
		http.Redirect(w, r, "/thanks/"+what, http.StatusSeeOther)
	})
	return nil
}

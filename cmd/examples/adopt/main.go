// A shop at each step of docs/adopt.md, and the bad day that is sent to it.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"flag"
	"fmt"
	"html"
	"html/template"
	"log"
	"net/http"

	_ "modernc.org/sqlite" // driver sqlite

	"github.com/nebis-dev/nebis/cmd/internal/badday"
)

// steps are the shop as it is, with PRG, with three unique indexes, with the table.
var steps = []func(*http.ServeMux, *sql.DB) error{before, prg, index, table}

func main() {
	step := flag.Int("step", 0, "`step` of docs/adopt.md: 0 (none), 1, 2 or 3")
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	day := flag.String("day", "", "send a bad day to the shop at this `URL`, and end")
	flag.Parse()
	if *day != "" {
		if err := badday.Send(context.Background(), *day); err != nil {
			log.Fatal(err)
		}
		log.Print("the day is over; now let nebis find count")
		return
	}
	if *step < 0 || *step >= len(steps) {
		log.Fatalf("there is no step %d", *step)
	}
	file := fmt.Sprintf("adopt-%d.db", *step)
	shop, err := open(file, *step)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("the shop at step %d, with its tables in %s: http://%s", *step, file, *addr)
	log.Fatal(http.ListenAndServe(*addr, shop))
}

// open returns the shop on a SQLite file, with the tables of its step.
func open(file string, step int) (http.Handler, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(tables); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /thanks/{for}", func(w http.ResponseWriter, r *http.Request) { thanks(w, r.PathValue("for")) })
	return mux, steps[step](mux, db)
}

const tables = `
CREATE TABLE IF NOT EXISTS orders  (id INTEGER PRIMARY KEY, visitor TEXT NOT NULL, item TEXT NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS coupons (id INTEGER PRIMARY KEY, visitor TEXT NOT NULL, campaign TEXT NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS points  (id INTEGER PRIMARY KEY, trade_no TEXT NOT NULL, points INTEGER NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS tickets (id INTEGER PRIMARY KEY, visitor TEXT NOT NULL, question TEXT NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);`

// forms are the pages with the forms; hidden is what a form carries besides its field.
func forms(mux *http.ServeMux, hidden func(http.ResponseWriter, *http.Request) template.HTML) {
	for path, field := range map[string]string{"/order": "item", "/coupon": "campaign", "/ticket": "question"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if visitor(r) == "" {
				http.SetCookie(w, &http.Cookie{Name: "visitor", Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			}
			fmt.Fprintf(w, `<!doctype html><form method="post">%s<input name="%s" value="%s"> <button>Send</button></form>`,
				hidden(w, r), field, html.EscapeString(r.FormValue(field)))
		})
	}
}

// visitor stands for the login of a real shop.
func visitor(r *http.Request) string {
	c, err := r.Cookie("visitor")
	if err != nil {
		return ""
	}
	return c.Value
}

// thanks is the page that shows what has been done.
func thanks(w http.ResponseWriter, what string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><p>Thank you for your %s.</p>", html.EscapeString(what))
}

// failed answers when nothing was written.
func failed(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "This did not work. Nothing has been done.", http.StatusInternalServerError)
}

package httptests

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// handler is what Tx takes.
type handler = func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error

// site is a web site with a table of orders, guarded by nebishttp.
type site struct {
	t     *testing.T
	db    *sql.DB
	store *nebis.Store
	m     *nebishttp.Middleware
	url   string
	ran   atomic.Int64 // how often a handler has run
}

var sqlite = dbtest.Lookup("sqlite-modernc")

// user takes the owner from a header, as a session middleware would from a cookie.
func user(r *http.Request) (string, error) {
	if name := r.Header.Get("User"); name != "" {
		return name, nil
	}
	return nebis.Anyone, nil
}

func newStore(t *testing.T, c dbtest.Config, db *sql.DB) *nebis.Store {
	t.Helper()
	store, err := nebis.New(db, c.Dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := c.Dialect.Schema("")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range strings.Split(strings.TrimSuffix(schema, ";\n"), ";\n\n") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// newSite returns a site on a fresh database; routes adds its handlers.
func newSite(t *testing.T, c dbtest.Config, o *nebishttp.Options, routes func(s *site, mux *http.ServeMux)) *site {
	t.Helper()
	s := &site{t: t, db: c.Open(t)}
	s.store = newStore(t, c, s.db)
	if _, err := s.db.ExecContext(t.Context(), `CREATE TABLE orders (item VARCHAR(100))`); err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &nebishttp.Options{}
	}
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s.m = nebishttp.New(s.store, user, o)
	mux := http.NewServeMux()
	routes(s, mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// orders is a site with one guarded handler, at every path.
func orders(t *testing.T, c dbtest.Config, route *nebishttp.Route, h handler) *site {
	t.Helper()
	return newSite(t, c, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", s.m.Tx("order", s.place(h), route))
	})
}

// place writes one order, counts the run, and lets h answer. A nil h answers 201
// with the number of the run.
func (s *site) place(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		n := s.ran.Add(1)
		if _, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item) VALUES ('tea')`); err != nil {
			return err
		}
		if h != nil {
			return h(w, r, tx)
		}
		w.Header().Set("Location", fmt.Sprintf("/orders/%d", n))
		w.WriteHeader(http.StatusCreated)
		_, err := fmt.Fprintf(w, "order %d", n)
		return err
	}
}

// count is the number of orders in the table.
func (s *site) count() (n int) {
	s.t.Helper()
	if err := s.db.QueryRowContext(context.Background(), `SELECT COUNT(*) FROM orders`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// records is the number of keys in the table.
func (s *site) records() (n int) {
	s.t.Helper()
	if err := s.db.QueryRowContext(context.Background(), `SELECT COUNT(*) FROM idempotency`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// outcome is its Idempotency-Status.
func (p reply) outcome() string { return p.header.Get("Idempotency-Status") }

// client follows no redirects and asks for no gzip by itself.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100},
}

// send posts a body; pairs are more headers, name and value in turn.
func (s *site) send(path, body string, pairs ...string) reply {
	s.t.Helper()
	p, err := s.try(http.MethodPost, path, strings.NewReader(body), pairs...)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *site) try(method, path string, body io.Reader, pairs ...string) (reply, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, body)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(text)}, err
}

// want fails the test unless the answer has this status and Idempotency-Status.
func (s *site) want(p reply, status int, outcome string) {
	s.t.Helper()
	if p.status != status || p.outcome() != outcome {
		s.t.Errorf("got %d %q, want %d %q: %s", p.status, p.outcome(), status, outcome, p.body)
	}
}

// wantOrders fails the test unless there are n orders.
func (s *site) wantOrders(n int) {
	s.t.Helper()
	if got := s.count(); got != n {
		s.t.Errorf("%d orders, want %d", got, n)
	}
}

// each runs a test on one configuration of every product and driver.
func each(t *testing.T, f func(t *testing.T, c dbtest.Config)) {
	t.Helper()
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { f(t, c) })
	}
}

const (
	key   = "Idempotency-Key"
	ctype = "Content-Type"
	form  = "application/x-www-form-urlencoded"
	js    = "application/json"
	html  = "text/html,application/xhtml+xml,*/*;q=0.8"
)

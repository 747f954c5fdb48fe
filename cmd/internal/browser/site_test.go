//go:build wip

package browser

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
	"github.com/nebis-dev/nebis/nebisjs"
)

// site is a small shop whose server can be made slow and faulty.
type site struct {
	t     *testing.T
	db    *sql.DB
	url   string // on 127.0.0.1
	route *nebishttp.Route

	mu      sync.Mutex
	sent    []string // what has arrived: the keys of the orders, in their order
	conns   []string // and the connections they came on
	flights int      // of preflights
	faults  []fault
	gate    chan struct{} // closed: the orders go on
}

// fault does something else with one request for an order.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

func newSite(t *testing.T) *site {
	t.Helper()
	c := dbtest.Lookup("sqlite-modernc")
	s := &site{t: t, db: c.Open(t), gate: make(chan struct{})}
	close(s.gate)
	store, err := nebis.New(s.db, c.Dialect, nil)
	if err == nil {
		_, err = store.Migrate(t.Context(), false)
	}
	if err == nil {
		_, err = s.db.ExecContext(t.Context(), `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, go TEXT NOT NULL)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.route = &nebishttp.Route{}
	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil },
		&nebishttp.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	srv := httptest.NewServer(s.mux(m))
	t.Cleanup(srv.Close)
	t.Cleanup(s.hurry)
	s.url = srv.URL
	return s
}

func (s *site) mux(m *nebishttp.Middleware) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /nebis/", nebisjs.Handler())
	mux.HandleFunc("GET /form", s.form)
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!doctype html><title>order</title><h1>Order %s</h1>", r.PathValue("id"))
	})
	mux.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) {
		// The route is made for each request, so that a test may change it.
		s.arrive(w, r, m.Tx("order", s.order, s.route))
	})
	return mux
}

// arrive lets other origins in, takes note of an order, and meets it with the next
// fault.
func (s *site) arrive(w http.ResponseWriter, r *http.Request, next http.Handler) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "Idempotency-Key, Content-Type")
	h.Set("Access-Control-Expose-Headers", "Idempotency-Status, Idempotent-Replayed, Retry-After")
	s.mu.Lock()
	if r.Method == http.MethodOptions {
		s.flights++
		s.mu.Unlock()
		return
	}
	_ = r.ParseForm() // a CSRF middleware does this as well
	key := r.PostForm.Get("idempotency_key")
	if key == "" {
		key = r.Header.Get("Idempotency-Key")
	}
	s.sent, s.conns = append(s.sent, key), append(s.conns, r.RemoteAddr)
	var meet fault
	if len(s.faults) > 0 {
		meet, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	if meet != nil {
		meet(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// order places one, unless its item is "none".
func (s *site) order(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	<-gate
	program := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	in := struct{ Item, Go string }{r.FormValue("item"), r.FormValue("go")}
	if program {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return err
		}
	}
	if in.Item == "none" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		s.page(w, r, "What do you want?", r.FormValue("look"))
		return nil
	}
	res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item, go) VALUES (?, ?)`, in.Item, in.Go)
	if err != nil {
		return err
	}
	id, _ := res.LastInsertId()
	if !program {
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", id))
		return nil
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, id)
	return nil
}

func (s *site) form(w http.ResponseWriter, r *http.Request) {
	s.page(w, r, "", r.URL.Query().Get("look"))
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<title>form</title>
{{.Script}}
<h1>Form {{.Say}}</h1>
<form id="order" method="post" action="/orders" {{if .Guard}}data-nebis{{end}}>
{{.Field}}<input type="hidden" name="look" value="{{.Look}}">
<input name="item" value="tea" autofocus>
<button name="go" value="now">Order</button>
</form>
<button id="outside" form="order" name="go" value="outside">Order</button>
<p id="say"></p>
<script>addEventListener("pageshow", event => window.persisted = event.persisted)</script>
{{if .App}}<script type="module">
	import * as nebis from "{{.Module}}"
	const form = document.querySelector("#order"), {dataset} = document.body, query = new URLSearchParams(location.search)
	Object.assign(window, {nebis, tries: 0})
	form.onsubmit = async event => {
		event.preventDefault()
		try {
			const answer = await nebis.action("order").fetch((query.get("api") ?? "") + "/orders", {
				body: JSON.stringify({item: form.item.value}),
				headers: {"Content-Type": "application/json"},
				timeout: query.get("timeout") ?? undefined,
				onretry: ({response}) => window.retried = response?.status ?? "no answer",
			})
			window.said = nebis.outcome(answer)
			if (answer.ok) location = "/orders/" + (await answer.json()).id
			else document.querySelector("#say").textContent = said
		} catch (error) {
			document.querySelector("#say").textContent = error.name
		}
	}
</script>{{end}}`))

// The looks of a form.
const (
	plain   = "plain"   // the server's field, no script
	guarded = "guarded" // the server's field, and the client
	own     = "own"     // no field but the client's
	naive   = "naive"   // no protection
	app     = "app"     // no form post, but action().fetch
	basket  = "basket"  // a key that stands for a basket, and the client
)

func (s *site) page(w http.ResponseWriter, r *http.Request, say, look string) {
	data := struct {
		Say, Look, Module string
		Guard, App        bool
		Script, Field     template.HTML
	}{Say: say, Look: look, App: look == app, Module: "/nebis/" + nebisjs.Module.Name}
	if look == guarded || look == own || look == basket {
		data.Guard, data.Script = true, nebisjs.Script("/nebis/")
	}
	switch look {
	case plain, guarded:
		data.Field = nebishttp.Field(w, r)
	case basket:
		data.Field = nebishttp.FieldKey(w, r, "basket-7-version-1")
	}
	if err := page.Execute(w, data); err != nil {
		s.t.Error(err)
	}
}

// slow makes every order wait until hurry is called.
func (s *site) slow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *site) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

// next meets the next order with a fault.
func (s *site) next(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// arrivals returns the keys of the orders that have arrived.
func (s *site) arrivals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sent...)
}

// arrived waits until n orders have arrived in all.
func (s *site) arrived(n int) step {
	return poll(fmt.Sprintf("%d orders to arrive", n), func(context.Context, *chromedp.Target) bool {
		return len(s.arrivals()) >= n
	})
}

// then calls f between two steps.
func then(f func()) step {
	return chromedp.Func(func(context.Context, *chromedp.Target) error { f(); return nil })
}

// want fails the test unless there are n orders.
func (s *site) want(n int) {
	s.t.Helper()
	var got int
	if err := s.db.QueryRowContext(context.Background(), `SELECT COUNT(*) FROM orders`).Scan(&got); err != nil {
		s.t.Fatal(err)
	}
	if got != n {
		s.t.Errorf("%d orders, want %d; arrived: %q", got, n, s.arrivals())
	}
}

// wantSent fails the test unless n orders have arrived, with that many keys.
func (s *site) wantSent(n, keys int) {
	s.t.Helper()
	all := s.arrivals()
	different := map[string]bool{}
	for _, key := range all {
		different[key] = true
	}
	if len(all) != n || len(different) != keys {
		s.t.Errorf("arrived: %q, want %d orders with %d keys", all, n, keys)
	}
}

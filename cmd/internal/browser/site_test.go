package browser

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

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
	hook  hook

	mu      sync.Mutex
	change  *sync.Cond
	sent    []arrival     // the orders, in their order
	working int           // orders that are not answered yet
	flights int           // preflights
	faults  []fault       // of the next orders
	always  fault         // of all after them
	gate    chan struct{} // closed: the orders go on
}

// arrival is a request for an order.
type arrival struct{ key, conn string }

// fault does something else with one request for an order.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

func newSite(t *testing.T) *site {
	t.Helper()
	c := dbtest.Lookup("sqlite-modernc")
	s := &site{t: t, db: c.Open(t), gate: make(chan struct{}), route: &nebishttp.Route{}}
	s.change = sync.NewCond(&s.mu)
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
	mux.HandleFunc("GET /hook", func(w http.ResponseWriter, r *http.Request) { s.hook.ServeHTTP(w, r) })
	mux.HandleFunc("GET /library/{name}", library)
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!doctype html><title>order</title><h1>Order %s</h1>", r.PathValue("id"))
	})
	orders := nebishttp.CORS{Origins: []string{"*"}}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The route is made for each request, so that a test may change it.
		s.arrive(w, r, m.Tx("order", s.order, s.route))
	}))
	mux.Handle("/orders", orders)
	mux.HandleFunc("OPTIONS /orders", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.flights++
		s.mu.Unlock()
		orders.ServeHTTP(w, r)
	})
	// A page that is being left hears no more from the test, so it asks and tells.
	mux.HandleFunc("GET /arrived/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		s.await(func() bool { return len(s.sent) >= n })
	})
	mux.HandleFunc("GET /hurry", func(http.ResponseWriter, *http.Request) { s.hurry() })
	return mux
}

// arrive takes note of an order, and meets it with the next fault.
func (s *site) arrive(w http.ResponseWriter, r *http.Request, next http.Handler) {
	meet := s.note(r)
	defer s.answered()
	if meet != nil {
		meet(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// note takes note of a request, and returns the fault that waits for it.
func (s *site) note(r *http.Request) fault {
	_ = r.ParseMultipartForm(1 << 20) // a CSRF middleware does this as well
	key := r.PostForm.Get("idempotency_key")
	if key == "" {
		key = r.Header.Get("Idempotency-Key")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, arrival{key, r.RemoteAddr})
	s.working++
	s.change.Broadcast()
	if len(s.faults) == 0 {
		return s.always
	}
	meet := s.faults[0]
	s.faults = s.faults[1:]
	return meet
}

func (s *site) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
	s.change.Broadcast()
}

func program(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
}

// order places one, unless its item is "none".
func (s *site) order(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	<-gate
	in := struct{ Item, Go string }{r.FormValue("item"), r.FormValue("go")}
	if program(r) {
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
	if !program(r) {
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", id))
		return nil
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, id)
	return nil
}

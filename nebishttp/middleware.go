package nebishttp

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"

	"github.com/nebis-dev/nebis"
)

// Options are what may be set for all routes of a [Middleware].
type Options struct {
	// Error answers when a handler has returned an error or panicked (then the error
	// is a *PanicError); its transaction has been rolled back and nothing that it
	// wrote is sent. The request's body can be read again. Defaults to WriteError,
	// and the error is logged.
	Error func(w http.ResponseWriter, r *http.Request, err error)

	// Problem renders an answer of ours (in progress, key missing, …); its headers
	// are set, the status p.Status is not. Defaults to problem+json for programs
	// and a page in English or Chinese for people.
	Problem func(w http.ResponseWriter, r *http.Request, p Problem)

	// Logger gets what clients are not told: never a key, never a body. Defaults
	// to slog.Default().
	Logger *slog.Logger

	// Route has the defaults of the routes' fields. What is true here cannot be
	// made false by a route.
	Route Route
}

// Middleware guards the routes of one site. It is safe for concurrent use.
type Middleware struct {
	store *nebis.Store
	owner func(*http.Request) (string, error)
	o     Options
}

// handler does a write in tx. The error that it returns rolls everything back.
type handler = func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error

// New returns a Middleware that keeps its keys in store. owner says on whose
// behalf a request is made: a user's or tenant's id, never one that changes
// between two sends, such as a session's; owners never share keys or answers. It
// returns [nebis.Anyone] for nobody in particular, and an error when the request
// is not allowed without an owner: 401. An empty owner is taken for a forgotten
// one: 500. It is asked for every write, also without a key.
//
// o may be nil. New does no I/O; it panics when store or owner is missing.
func New(store *nebis.Store, owner func(*http.Request) (string, error), o *Options) *Middleware {
	if store == nil || owner == nil {
		panic("nebishttp: New needs a store and an owner function")
	}
	m := &Middleware{store: store, owner: owner}
	if o != nil {
		m.o = *o
	}
	return m
}

func (m *Middleware) logger() *slog.Logger {
	if m.o.Logger != nil {
		return m.o.Logger
	}
	return slog.Default()
}

// Tx returns a handler that runs h once for each key within scope, the name of
// the business (order, coupon). h gets the transaction in which it does the work,
// and writes its answer as usual. The handler's r.Context() outlives the client and
// ends with Route.Deadline.
//
// For GET, HEAD, OPTIONS, TRACE and CONNECT, which cannot write, h is called with
// a nil tx and nothing else is done, unless the route says AnyMethod.
//
// route may be nil. Tx panics when scope or route is malformed.
func (m *Middleware) Tx(scope string, h func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error, route *Route) http.HandlerFunc {
	rt := m.newRoute(scope, route)
	return func(w http.ResponseWriter, r *http.Request) {
		if rt.guards(r.Method) {
			rt.serve(w, r, h)
		} else if err := h(w, r, nil); err != nil {
			m.renderError(w, r, err)
		}
	}
}

// errSilent: an error that a framework handles outside of ours looks like this; an
// empty 200 must not be stored for it.
var errSilent = errors.New("nebishttp: the handler behind Wrap wrote neither a status nor a body; it has to say how it ended, with w.WriteHeader at least")

// Wrap is Tx as a middleware: the handler finds its transaction with [TxFrom].
//
// Because such a handler cannot return an error, one that writes nothing at all
// is rolled back and answered with 500: frameworks that render errors outside of
// their middlewares (echo, gin) would otherwise have an empty success stored.
func (m *Middleware) Wrap(scope string, route *Route) func(http.Handler) http.Handler {
	rt := m.newRoute(scope, route)
	return func(next http.Handler) http.Handler {
		h := func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			next.ServeHTTP(w, r)
			if rec, ok := w.(*recorder); ok && !rec.written() && rec.verdict() == "" {
				return errSilent
			}
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rt.guards(r.Method) {
				rt.serve(w, r, h)
			} else {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// TxFrom returns the transaction of a handler behind [Middleware.Tx] or
// [Middleware.Wrap], nil when ctx has none: for a GET, or outside of ours. It ends
// with the handler.
func TxFrom(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(ctxTx).(*sql.Tx)
	return tx
}

func (rt *route) guards(method string) bool { return rt.AnyMethod || writes(method) }

// writes reports whether a method may change something. A protocol upgrade is a
// GET or a CONNECT; what offers an upgrade with a POST still writes.
func writes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return false
	}
	return true
}

// problem sends an answer of ours.
func (m *Middleware) problem(w http.ResponseWriter, r *http.Request, p Problem) {
	if m.o.Problem == nil {
		writeProblem(w, r, p)
		return
	}
	p.setHeader(w.Header())
	m.o.Problem(w, r, p)
}

// renderError answers for a handler that returned err.
func (m *Middleware) renderError(w http.ResponseWriter, r *http.Request, err error) {
	if m.o.Error != nil {
		m.o.Error(w, r, err)
		return
	}
	m.logger().ErrorContext(r.Context(), "nebishttp: handler failed", "method", r.Method, "path", r.URL.Path, "error", err)
	m.problem(w, r, problemOf(err))
}

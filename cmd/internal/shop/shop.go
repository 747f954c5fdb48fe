// Package shop is the demonstration of Nebis: a small shop that takes each order
// once, beside a form that does not.
//
// Orders are public here, on purpose, and there are no accounts: whoever can reach
// the shop can order in it and read every order.
package shop

import (
	"context"
	"database/sql"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
	"github.com/nebis-dev/nebis/hourly"
	"github.com/nebis-dev/nebis/nebishttp"
	"github.com/nebis-dev/nebis/nebisjs"
	"github.com/nebis-dev/nebis/outbox"
)

// keyTable is Nebis's table. All tables of the demo begin with nebis_demo_, so
// that it can never touch a site's own.
const keyTable = "nebis_demo_idempotency"

// Shop is the demo on one database.
type Shop struct {
	db     *sql.DB
	sql    dialect
	store  *nebis.Store
	counts *hourly.Counter
	guard  *nebishttp.Middleware
	pages  map[string]*template.Template
	tally  tally
	log    *slog.Logger

	sessions     *scs.SessionManager
	likes, views *once
	lost         *once // answers, by key

	calls            *outbox.Outbox
	provider, forger *callbacktest.Sender // the simulated payment provider, and who is not
	heard            http.Handler         // what the provider says
	cuts             cuts
	outside          string // where the simulated services are
}

// Options are who else is told of what the shop does. Nobody needs to be.
type Options struct {
	Observe      func(context.Context, nebis.Event)                    // its operations
	ObserveCalls func(context.Context, outbox.Event)                   // its calls to the outside
	Callback     func(provider string, next http.Handler) http.Handler // wraps its callbacks
}

// New makes the shop. It does not touch the database: Migrate does.
func New(db *sql.DB, d nebis.Dialect, log *slog.Logger, o *Options) (*Shop, error) {
	if o == nil {
		o = &Options{}
	}
	own, err := dialectOf(d)
	if err != nil {
		return nil, err
	}
	counts, err := hourly.New(db, d, &hourly.Options{Table: keyTable})
	if err != nil {
		return nil, err
	}
	store, err := nebis.New(db, d, &nebis.Options{Table: keyTable, Observe: func(ctx context.Context, e nebis.Event) {
		counts.Observe(ctx, e)
		if o.Observe != nil {
			o.Observe(ctx, e)
		}
	}})
	if err != nil {
		return nil, err
	}
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	s := &Shop{db: db, sql: own, store: store, counts: counts, pages: pages, log: log,
		sessions: newSessions(), likes: newOnce(24 * time.Hour), views: newOnce(30 * time.Minute), lost: newOnce(time.Hour)}
	s.guard = nebishttp.New(store, ownerOf, &nebishttp.Options{Error: s.failed, Problem: s.answer, Logger: log})
	return s, s.deal(d, o)
}

// deal makes what the shop needs to deal with others: its calls, and the keys of the
// simulated provider, which are new at each start.
func (s *Shop) deal(d nebis.Dialect, o *Options) (err error) {
	s.calls, err = outbox.New(s.db, d, &outbox.Options{Table: CallTable, Lease: callLease, Poll: callPoll, Observe: o.ObserveCalls})
	if err != nil {
		return err
	}
	s.handleCalls()
	if s.provider, err = callbacktest.Epay(callbacktest.Keys{}); err != nil {
		return err
	}
	if s.forger, err = callbacks.Forged("epay", s.provider); err != nil {
		return err
	}
	s.heard = callback.Handler(s.store, s.provider.Provider, s.paid, &callback.Options{Log: s.log})
	if o.Callback != nil {
		s.heard = o.Callback(s.provider.Provider.Name, s.heard)
	}
	return nil
}

// Migrate makes the tables that are missing and puts the goods on the shelf.
// Several processes may do so at once.
func (s *Shop) Migrate(ctx context.Context) error {
	if _, err := s.store.Migrate(ctx, false); err != nil {
		return err
	}
	if err := callback.Migrate(ctx, s.db, s.store); err != nil {
		return err
	}
	if err := s.calls.Migrate(ctx); err != nil {
		return err
	}
	for _, ddl := range s.sql.tables {
		if _, err := s.db.ExecContext(ctx, ddl); err != nil {
			return fmt.Errorf("shop: make tables: %w", err)
		}
	}
	for _, g := range shelf {
		if _, err := s.db.ExecContext(ctx, s.sql.q(s.sql.addGoods), g.Code, g.Stock); err != nil {
			return fmt.Errorf("shop: put %s on the shelf: %w", g.Code, err)
		}
	}
	return nil
}

// Counts are those of its operations, for its Run to write.
func (s *Shop) Counts() *hourly.Counter { return s.counts }

// Store has the shop's keys.
func (s *Shop) Store() *nebis.Store { return s.store }

// Calls are its calls to the outside, for others to look at and to clean.
func (s *Shop) Calls() *outbox.Outbox { return s.calls }

// Handler is the shop's web site and API.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()

	// What Nebis protects: the same two handlers as below, in its transaction.
	mux.Handle("POST /orders", s.counted(true, s.guard.Tx("order", s.attempt(s.placeForm), nil)))
	mux.Handle("POST /api/orders", s.counted(true, s.guard.Tx("order", s.attempt(s.placeAPI), &nebishttp.Route{Required: true})))

	// The same as the API, with the troubles of the page /client.
	troubled := s.counted(true, s.guard.Tx("order", s.attempt(s.placeAPI), &nebishttp.Route{Required: true, Wait: -1}))
	mux.Handle("POST /api/orders/at-once", troubled)
	mux.Handle("POST /api/orders/lost", s.losing(troubled))

	mux.Handle("POST /basket", s.guard.Tx("basket", s.fillBasket, nil))
	mux.Handle("POST /basket/order", s.counted(true, s.guard.Tx("basket-order", s.placeBasket, nil)))

	mux.Handle("POST /batch", s.recovered(http.HandlerFunc(s.placeBatch)))

	// What others have a part in.
	mux.Handle("GET /callbacks/epay", s.hearing(s.heard))
	mux.Handle("POST /orders/{id}/cancel", s.recovered(s.guard.Tx("cancel", s.cancel, &nebishttp.Route{Ignore: []string{refundService}})))
	mux.HandleFunc("POST /provider/{id}", s.firePage)

	// The same without protection.
	mux.Handle("POST /naive/orders", s.counted(false, http.HandlerFunc(s.placeNaive)))

	// What needs none.
	mux.HandleFunc("POST /likes", s.like)
	mux.HandleFunc("POST /orders/{id}/pickup", s.pickUp)

	mux.HandleFunc("GET /api/orders", s.listAPI)
	mux.HandleFunc("GET /api/orders/{id}", s.orderAPI)
	mux.HandleFunc("OPTIONS /api/orders", allow("GET, HEAD, OPTIONS, POST"))
	mux.HandleFunc("GET /api/", s.noSuchAPI)

	mux.HandleFunc("GET /{$}", s.page(s.goodsPage))
	mux.HandleFunc("GET /goods/{code}", s.page(s.orderPage))
	mux.HandleFunc("GET /orders", s.page(s.listPage))
	mux.HandleFunc("GET /orders/{id}", s.page(s.placedPage))
	mux.HandleFunc("GET /orders/{id}/life", s.page(s.lifePage))
	mux.HandleFunc("GET /provider/{id}", s.page(s.providerPage))
	mux.HandleFunc("GET /basket", s.page(s.basketPage))
	mux.HandleFunc("GET /batch", s.page(s.batchPage))
	mux.HandleFunc("GET /client", s.page(s.clientPage))
	mux.HandleFunc("GET /free", s.page(s.freePage))
	mux.HandleFunc("GET /", s.page(s.noSuchPage))
	mux.Handle("GET "+clientPath, nebisjs.Handler())
	for _, name := range []string{"shop.css", "live.js", "client.js", "icon.svg"} {
		mux.HandleFunc("GET /"+name, asset(name))
	}
	return s.inSession(mux)
}

func allow(methods string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
	}
}

// asset serves one embedded file. Its content changes with the program, so the
// browser asks each time; it is small and near.
func asset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, assets, "assets/"+name)
	}
}

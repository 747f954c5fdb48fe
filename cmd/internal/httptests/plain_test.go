package httptests

import (
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// bare is a site without routes, for handlers that are called directly.
func bare(t *testing.T, c dbtest.Config) *site {
	t.Helper()
	return newSite(t, c, nil, func(*site, *http.ServeMux) {})
}

// serve calls a handler without a server, which would drop what it must not send.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func post() *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil) }

// wantEnded fails the test if a transaction is still open.
func (s *site) wantEnded() {
	s.t.Helper()
	if n := s.db.Stats().InUse; n != 0 {
		s.t.Errorf("%d connections are still in use", n)
	}
}

func created(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
	w.WriteHeader(http.StatusCreated)
	return nil
}

func TestARequestWithoutAKeyRunsInAPlainTransaction(t *testing.T) {
	ways := map[string]struct {
		h              handler
		status, orders int
	}{
		"success":      {created, 201, 1},
		"error":        {func(http.ResponseWriter, *http.Request, *sql.Tx) error { return errors.New("boom") }, 500, 0},
		"error status": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error { w.WriteHeader(422); return nil }, 422, 0},
		"kept refusal": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			nebishttp.Keep(w)
			w.WriteHeader(409)
			return nil
		}, 409, 1},
		"discarded": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			w.WriteHeader(200)
			nebishttp.Discard(w)
			return nil
		}, 200, 0},
		"nothing at all": {func(http.ResponseWriter, *http.Request, *sql.Tx) error { return nil }, 200, 1},
	}
	each(t, func(t *testing.T, c dbtest.Config) {
		s := bare(t, c)
		for name, way := range ways {
			before := s.count()
			w := serve(s.m.Tx("order", s.place(way.h), nil), post())
			if n := s.count() - before; w.Code != way.status || n != way.orders {
				t.Errorf("%s: got %d and %d orders", name, w.Code, n)
			}
			for header := range w.Header() {
				if header == "Idempotency-Status" || strings.Contains(header, " ") {
					t.Errorf("%s: sent %v", name, w.Header())
				}
			}
			s.wantEnded()
		}
		if n := s.records(); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

func TestWithoutAKeyADatabaseThatIsDownHasDoneNothing(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	_ = s.db.Close()
	p := s.send("/", "")
	s.want(p, 503, "")
	if s.ran.Load() != 0 || !strings.Contains(p.body, "urn:nebis:problem:no-database") {
		t.Errorf("ran %d times, got %s", s.ran.Load(), p.body)
	}
}

// TestWithoutAKeyACommitThatFailsIsUnknown leaves a row that a deferred foreign
// key refuses at COMMIT. (MySQL has none that wait so long.)
func TestWithoutAKeyACommitThatFailsIsUnknown(t *testing.T) {
	for _, c := range []dbtest.Config{
		sqlite.With("_pragma=foreign_keys(1)"), dbtest.Lookup("sqlite-mattn").With("_foreign_keys=1"),
		dbtest.Lookup("postgres-pgx"), dbtest.Lookup("postgres-pq"),
	} {
		t.Run(c.Name, func(t *testing.T) {
			s := orders(t, c, nil, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
				w.WriteHeader(http.StatusCreated)
				_, err := tx.ExecContext(r.Context(), `INSERT INTO lines (goods) VALUES (7)`)
				return err
			})
			for _, ddl := range []string{
				`CREATE TABLE goods (id INTEGER PRIMARY KEY)`,
				`CREATE TABLE lines (goods INTEGER REFERENCES goods (id) DEFERRABLE INITIALLY DEFERRED)`,
			} {
				if _, err := s.db.ExecContext(t.Context(), ddl); err != nil {
					t.Fatal(err)
				}
			}
			p := s.send("/", "")
			s.want(p, 409, "unknown")
			if s.ran.Load() != 1 || !strings.Contains(p.body, "urn:nebis:problem:unknown") {
				t.Errorf("ran %d times, got %s", s.ran.Load(), p.body)
			}
			s.wantOrders(0)
			s.wantEnded()
		})
	}
}

func TestBehindWrapAHandlerThatWritesNothingIsNotASuccess(t *testing.T) {
	s := bare(t, sqlite)
	for name, c := range map[string]struct {
		h              http.HandlerFunc
		status, orders int
	}{
		"nothing":          {func(http.ResponseWriter, *http.Request) {}, 500, 0},
		"a status":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, 200, 1},
		"an empty body":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) }, 200, 1},
		"nothing but Keep": {func(w http.ResponseWriter, _ *http.Request) { nebishttp.Keep(w) }, 200, 1},
	} {
		before := s.count()
		w := serve(s.m.Wrap("order", nil)(s.placeBehindWrap(c.h)), post())
		if n := s.count() - before; w.Code != c.status || n != c.orders {
			t.Errorf("%s: got %d and %d orders", name, w.Code, n)
		}
		s.wantEnded()
	}
}

// placeBehindWrap is place for a handler that finds its transaction itself.
func (s *site) placeBehindWrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.place(func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			h.ServeHTTP(w, r)
			return nil
		})(w, r, nebishttp.TxFrom(r.Context()))
		if err != nil {
			s.t.Error(err)
		}
	})
}

func TestWithoutAKeyAbortingTheHandlerRollsBackAndGoesOn(t *testing.T) {
	s := bare(t, sqlite)
	h := s.m.Tx("order", s.place(func(http.ResponseWriter, *http.Request, *sql.Tx) error { panic(http.ErrAbortHandler) }), nil)
	defer func() {
		if v := recover(); v != http.ErrAbortHandler || s.ran.Load() != 1 {
			t.Errorf("recovered %v, ran %d times", v, s.ran.Load())
		}
		s.wantOrders(0)
		s.wantEnded()
	}()
	serve(h, post())
}

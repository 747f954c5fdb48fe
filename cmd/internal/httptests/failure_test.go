package httptests

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func TestAFailedRequestLeavesTheKeyFree(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		fail := map[string]handler{
			"error": func(http.ResponseWriter, *http.Request, *sql.Tx) error { return errors.New("secret") },
			"error, written": func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
				w.WriteHeader(201)
				return errors.New("secret")
			},
			"panic": func(http.ResponseWriter, *http.Request, *sql.Tx) error { panic("secret") },
			"500":   func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error { w.WriteHeader(500); return nil },
		}
		n := 0
		for name, h := range fail {
			failed := false
			s := orders(t, c, nil, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
				if !failed {
					failed = true
					return h(w, r, tx)
				}
				w.WriteHeader(http.StatusCreated)
				return nil
			})
			p := s.send("/", "", key, "k")
			if p.status != 500 || strings.Contains(p.body, "secret") {
				t.Errorf("%s: got %d %s", name, p.status, p.body)
			}
			s.wantOrders(0)
			s.want(s.send("/", "", key, "k"), 201, "created")
			s.want(s.send("/", "", key, "k"), 201, "replayed")
			s.wantOrders(1)
			n++
		}
	})
}

func TestAbortingTheHandlerCutsTheConnectionAndFreesTheKey(t *testing.T) {
	failed := false
	s := orders(t, sqlite, nil, func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
		if !failed {
			failed = true
			panic(http.ErrAbortHandler)
		}
		return nil
	})
	if p, err := s.try("POST", "/", io.MultiReader(strings.NewReader("x")), key, "k"); err == nil {
		t.Errorf("got %d", p.status)
	}
	s.want(s.send("/", "x", key, "k"), 200, "created")
	s.wantOrders(1)
}

func TestADatabaseThatIsDownIs503AndTheHandlerDoesNotRun(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, nil)
		_ = s.db.Close()
		for _, pairs := range [][]string{{key, "k"}, {key, "k", ctype, form, "Accept", html}, nil} {
			p := s.send("/", "", pairs...)
			if p.status != 503 || p.header.Get("Retry-After") == "" || strings.Contains(p.body, "sql") {
				t.Errorf("%v: got %d %v %s", pairs, p.status, p.header, p.body)
			}
			if len(pairs) > 0 && p.outcome() != "unavailable" {
				t.Errorf("%v: the status is %q", pairs, p.outcome())
			}
		}
		if n := s.ran.Load(); n != 0 {
			t.Errorf("the handler ran %d times", n)
		}
	})
}

func TestATransactionThatTheHandlerEndedIsNeverASuccess(t *testing.T) {
	ends := map[string]func(tx *sql.Tx) error{
		"commit":                (*sql.Tx).Commit,
		"commit, then an error": func(tx *sql.Tx) error { return errors.Join(tx.Commit(), errors.New("too late")) },
	}
	each(t, func(t *testing.T, c dbtest.Config) {
		for name, end := range ends {
			s := orders(t, c, nil, func(w http.ResponseWriter, _ *http.Request, tx *sql.Tx) error {
				w.WriteHeader(http.StatusCreated)
				return end(tx)
			})
			for range 2 { // the first is told, and a later one does not run it again
				p := s.send("/", "", key, "k")
				if p.status != 409 || p.outcome() != "unknown" || p.header.Get("Retry-After") != "" {
					t.Errorf("%s: got %d %v %s", name, p.status, p.header, p.body)
				}
			}
			s.wantOrders(1)
		}
		s := orders(t, c, nil, func(_ http.ResponseWriter, _ *http.Request, tx *sql.Tx) error { return tx.Rollback() })
		if p := s.send("/", "", key, "k"); p.status < 400 {
			t.Errorf("rollback: got %d %s", p.status, p.body)
		}
	})
}

func TestTheFirstRunSurvivesItsClient(t *testing.T) {
	started, done := make(chan bool, 1), make(chan error, 1)
	var gone context.Context
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		guarded := s.m.Tx("order", s.place(func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
			started <- true
			<-gone.Done()
			_, err := tx.ExecContext(r.Context(), `UPDATE orders SET item = 'more tea'`)
			w.WriteHeader(http.StatusCreated)
			done <- err
			return err
		}), nil)
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			gone = r.Context() // the server ends it when the client hangs up
			guarded(w, r)
		})
	})
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-started
		hangUp()
	}()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
	r.Header.Set(key, "k")
	if res, err := client.Do(r); err == nil {
		res.Body.Close()
		t.Error("the client got an answer")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.want(s.send("/", "", key, "k"), 201, "replayed")
	s.wantOrders(1)
}

func TestTheHandlerIsHeldToItsDeadline(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{Deadline: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		<-r.Context().Done()
		return r.Context().Err()
	})
	begun := time.Now()
	s.want(s.send("/", "", key, "k"), 500, "released")
	s.wantOrders(0)
	if d := time.Since(begun); d > 4*time.Second {
		t.Errorf("it ran for %v", d)
	}
}

func TestAStoredTextThatIsNotOursIsNotShownAndNothingRunsAgain(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, nil)
		for k, response := range map[string]string{"text": "'not JSON'", "other": `'{"id":7}'`, "null": "NULL"} {
			// A row of our own code, with a token, whose answer is none of ours.
			s.want(s.send("/", "", key, "k-"+k), 201, "created")
			if _, err := s.db.Exec(`UPDATE idempotency SET response = ` + response + ` WHERE idem_key = 'k-` + k + `'`); err != nil {
				t.Fatal(err)
			}
			s.want(s.send("/", "", key, "k-"+k), 410, "not-kept")
		}
		s.wantOrders(3)
	})
}

package httptests

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/nebishttp"
)

func TestARequestWithoutAnOwnerIsRefusedBeforeAnySQLWithOrWithoutAKey(t *testing.T) {
	owners := map[string]func(*http.Request) (string, error){
		"/none":      func(*http.Request) (string, error) { return "", errors.New("secret") },
		"/forgotten": func(*http.Request) (string, error) { return "", nil },
	}
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		o := &nebishttp.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
		for path, owner := range owners {
			mux.Handle(path, nebishttp.New(s.store, owner, o).Tx("order", s.place(nil), nil))
		}
	})
	_ = s.db.Close() // with SQL it would be 503
	for _, pairs := range [][]string{nil, {key, "k"}} {
		p := s.send("/none", "", pairs...)
		s.want(p, 401, "")
		if strings.Contains(p.body, "secret") {
			t.Errorf("got %s", p.body)
		}
		s.want(s.send("/forgotten", "", pairs...), 500, "")
	}
	if n := s.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
}

func TestMethodsThatCannotWritePassUntouched(t *testing.T) {
	s := bare(t, sqlite)
	_ = s.db.Close() // with SQL it would be 503
	m := nebishttp.New(s.store, func(*http.Request) (string, error) { panic("asked for the owner") }, nil)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"} {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set(key, "k")
		w := httptest.NewRecorder()
		ran := 0
		m.Wrap("order", &nebishttp.Route{Required: true})(http.HandlerFunc(func(got http.ResponseWriter, gotR *http.Request) {
			ran++
			if got != http.ResponseWriter(w) || gotR != r || nebishttp.TxFrom(gotR.Context()) != nil {
				t.Errorf("%s: Wrap touched it", method)
			}
		})).ServeHTTP(w, r)
		m.Tx("order", func(got http.ResponseWriter, gotR *http.Request, tx *sql.Tx) error {
			ran++
			if got != http.ResponseWriter(w) || gotR != r || tx != nil {
				t.Errorf("%s: Tx touched it", method)
			}
			return nil
		}, nil).ServeHTTP(w, r)
		if ran != 2 {
			t.Errorf("%s: %d of 2 handlers ran: %d %s", method, ran, w.Code, w.Body)
		}
	}
}

func TestAPOSTThatOffersAnUpgradeIsStillGuarded(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	upgrade := []string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c"} // as Java's HttpClient sends it
	s.want(s.send("/", "", upgrade...), 201, "")
	s.want(s.send("/", "", append(upgrade, key, "k")...), 201, "created")
	s.want(s.send("/", "", append(upgrade, key, "k")...), 201, "replayed")
	s.wantOrders(2)
}

func TestGuardingARouteTwiceIsSaidAndNotDone(t *testing.T) {
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		inner := s.m.Tx("order", func(http.ResponseWriter, *http.Request, *sql.Tx) error {
			t.Error("the inner handler ran")
			return nil
		}, nil)
		mux.Handle("/", s.m.Wrap("site", nil)(s.placeBehindWrap(inner)))
	})
	s.want(s.send("/", ""), 500, "")
	s.want(s.send("/", "", key, "k"), 500, "released")
	s.wantOrders(0)
}

func TestTheHandlerFindsItsTransactionAndItsKeyInTheContext(t *testing.T) {
	var given, found *sql.Tx
	s := orders(t, sqlite, nil, func(_ http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		given, found = tx, nebishttp.TxFrom(r.Context())
		k, err := nebishttp.KeyOf(r)
		if k != r.Header.Get(key) || err != nil || r.PostForm != nil {
			t.Errorf("KeyOf: %q, %v; the form was parsed: %v", k, err, r.PostForm)
		}
		return nil
	})
	for _, k := range []string{"", "k"} {
		given, found = nil, nil
		s.send("/", "item=tea", ctype, form, key, k)
		if given == nil || given != found {
			t.Errorf("key %q: given %p, found %p", k, given, found)
		}
	}
	if nebishttp.TxFrom(context.Background()) != nil {
		t.Error("found one where there is none")
	}
}

func TestFilesThatTheHandlerParsedDoNotStayOnDisk(t *testing.T) {
	dir, onDisk := t.TempDir(), 0
	s := orders(t, sqlite, nil, func(_ http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		if err := r.ParseMultipartForm(0); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		onDisk += len(entries)
		return err
	})
	t.Setenv("TMPDIR", dir)
	contentType, body := multipartForm(t, "AAAA")
	body = strings.Replace(body, "idempotency_key", "other", 1)
	s.want(s.send("/", body, ctype, contentType), 200, "")
	left, _ := os.ReadDir(dir)
	if onDisk != 1 || len(left) != 0 {
		t.Errorf("%d files while it ran, %d after", onDisk, len(left))
	}
}

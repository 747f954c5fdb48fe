package httptests

import (
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func TestTwoUsersWithOneKeyAreTwoOperations(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			w.WriteHeader(http.StatusCreated)
			_, err := fmt.Fprint(w, "for ", r.Header.Get("User"))
			return err
		})
		for _, outcome := range []string{"created", "replayed"} {
			for _, name := range []string{"A", "B", "a", "no ASCII: 茶", ""} {
				p := s.send("/", "", key, "k", "User", name)
				s.want(p, 201, outcome)
				if p.body != "for "+name {
					t.Errorf("%q got the answer %q", name, p.body)
				}
			}
		}
		s.wantOrders(5)
	})
}

// Cases 15 and 16. TestAuthorisationComesBeforeTheReplay is how a site puts the two
// together: the right is asked for outside of ours, each time.
func TestAuthorisationComesBeforeTheReplay(t *testing.T) {
	var revoked atomic.Bool
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		guarded := s.m.Tx("order", s.place(nil), nil)
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("User") != "A" || revoked.Load() {
				http.Error(w, "not yours", http.StatusForbidden)
				return
			}
			guarded(w, r)
		})
	})
	s.want(s.send("/", "", key, "k", "User", "A"), 201, "created")
	s.want(s.send("/", "", key, "k", "User", "B"), 403, "")
	s.want(s.send("/", "", key, "k", "User", "A"), 201, "replayed")
	revoked.Store(true)
	s.want(s.send("/", "", key, "k", "User", "A"), 403, "")
	s.wantOrders(1)
}

func TestNoCookieNoDateAndNoChallengeIsReplayed(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			for _, name := range []string{"Set-Cookie", "Www-Authenticate", "X-Ratelimit-Remaining", "Ratelimit", "X-Request-Id", "Connection"} {
				w.Header().Set(name, "first")
			}
			w.Header().Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
			w.Header().Set("Location", "/orders/1")
			w.WriteHeader(http.StatusCreated)
			return nil
		})
		first, again := s.send("/", "", key, "k"), s.send("/", "", key, "k")
		if got := first.header.Get("Set-Cookie"); got != "first" {
			t.Errorf("the first caller got the cookie %q", got)
		}
		for name, values := range again.header {
			if slices.Contains(values, "first") || strings.Contains(values[0], "1970") {
				t.Errorf("replayed %s: %v", name, values)
			}
		}
		if again.header.Get("Location") != "/orders/1" || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed %v", again.header)
		}
	})
}

func TestAnInputErrorDoesNotBurnTheKey(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			if r.FormValue("code") != "123456" {
				http.Error(w, "wrong code", http.StatusBadRequest)
				return nil
			}
			_, err := fmt.Fprint(w, "paid")
			return err
		})
		s.want(s.send("/", "code=111111", key, "k", ctype, form), 400, "released")
		s.want(s.send("/", "code=123456", key, "k", ctype, form), 200, "created")
		s.want(s.send("/", "code=123456", key, "k", ctype, form), 200, "replayed")
		s.want(s.send("/", "code=111111", key, "k", ctype, form), 422, "mismatch")
		s.wantOrders(1)
	})
}

func TestAMiddlewareOutsideMayMakeTheKeyFromABusinessObject(t *testing.T) {
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		guarded := s.m.Tx("order", s.place(func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			k, err := nebishttp.KeyOf(r)
			_, _ = fmt.Fprint(w, k)
			return err
		}), &nebishttp.Route{Required: true})
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { guarded(w, nebishttp.WithKey(r, "basket-17-v3")) })
	})
	s.want(s.send("/", "idempotency_key=tab1", ctype, form), 200, "created")
	p := s.send("/", "idempotency_key=tab2", ctype, form)
	s.want(p, 200, "replayed")
	if p.body != "basket-17-v3" {
		t.Errorf("KeyOf is %q", p.body)
	}
	s.wantOrders(1)
}

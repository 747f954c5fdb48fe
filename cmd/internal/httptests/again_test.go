package httptests

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

var keyOfPage = regexp.MustCompile(`name="idempotency_key" value="([^"]+)"`)

// Case 42: Back, edit, submit is a clear question, never a silent drop.
func TestAFormThatWasEditedAfterItsSendShowsTheFirstResultAndCanBeSentAsANewOne(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, nil)
		s.want(s.send("/", "item=tea&idempotency_key=k1", ctype, form, "Accept", html), 201, "created")
		p := s.send("/", "item=cup&idempotency_key=k1", ctype, form, "Accept", html)
		s.want(p, 422, "mismatch")
		if p.header.Get("Location") != "/orders/1" || !strings.Contains(p.body, `<a href="/orders/1">`) {
			t.Errorf("where is the first result? %v %s", p.header, p.body)
		}
		anew := keyOfPage.FindStringSubmatch(p.body)
		if anew == nil || anew[1] == "k1" || !strings.Contains(p.body, `name="item" value="cup"`) {
			t.Fatalf("no form to send it as a new one: %s", p.body)
		}
		s.want(s.send("/", "item=cup&idempotency_key="+anew[1], ctype, form, "Accept", html), 201, "created")
		s.wantOrders(2)
	})
}

func TestTheFirstResultIsNotShownToAnotherOwner(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	s.want(s.send("/", `{"a":1}`, ctype, js, key, "k1", "User", "ann"), 201, "created")
	if p := s.send("/", `{"a":2}`, ctype, js, key, "k1", "User", "bob"); p.status != 201 {
		t.Errorf("another owner's key: %d %v", p.status, p.header)
	}
	p := s.send("/", `{"a":2}`, ctype, js, key, "k1", "User", "ann")
	s.want(p, 422, "mismatch")
	if p.header.Get("Location") != "/orders/1" {
		t.Errorf("%v", p.header)
	}
	s.wantOrders(2)
}

func TestAFormWithoutItsKeyCanBeSentWithOne(t *testing.T) {
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", s.m.Tx("order", s.place(nil), &nebishttp.Route{Required: true}))
	})
	p := s.send("/", "item=tea", ctype, form, "Accept", html)
	s.want(p, 400, "invalid")
	anew := keyOfPage.FindStringSubmatch(p.body)
	if anew == nil {
		t.Fatal(p.body)
	}
	s.want(s.send("/", "item=tea&idempotency_key="+anew[1], ctype, form, "Accept", html), 201, "created")
}

// A key may be hidden in what could not be read: such a form must not run twice.
func TestAFormThatCannotBeReadDoesNotRun(t *testing.T) {
	for name, body := range map[string]string{
		"malformed":   "item=tea&idempotency_key=100%",
		"semicolon":   "item=tea;idempotency_key=abc",
		"many fields": "idempotency_key=abc" + strings.Repeat("&a=", 10_001),
	} {
		t.Run(name, func(t *testing.T) {
			s := orders(t, sqlite, nil, nil)
			s.want(s.send("/", body, ctype, form), 400, "invalid")
			s.wantOrders(0)
		})
	}
}

// The log gets the database's error, in which the server quotes the key.
func TestTheKeyOfARefusedClaimIsNotInTheLog(t *testing.T) {
	c := dbtest.Lookup("mariadb")
	var log bytes.Buffer
	s := &site{t: t, db: c.Open(t)}
	s.store = newStore(t, c, s.db)
	for _, q := range []string{`CREATE TABLE orders (item VARCHAR(100))`, `CREATE UNIQUE INDEX old ON idempotency (idem_key, scope)`} {
		if _, err := s.db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	m := nebishttp.New(s.store, user, &nebishttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	srv := httptest.NewServer(m.Tx("order", s.place(nil), nil))
	defer srv.Close()
	s.url = srv.URL
	secret := strings.Repeat("5ecre7", 11)
	s.want(s.send("/", "", key, secret, "User", "a"), 201, "created")
	s.want(s.send("/", "", key, secret, "User", "b"), 503, "unavailable")
	if log.Len() == 0 || strings.Contains(log.String(), "5ecre7") {
		t.Errorf("the log: %s", log.String())
	}
}

func TestARecheckThatPanicsIsAnswered(t *testing.T) {
	route := &nebishttp.Route{Recheck: func(context.Context, *sql.Tx, int, http.Header, []byte) (bool, error) { panic("mine") }}
	s := orders(t, sqlite, route, nil)
	s.want(s.send("/", "", key, "k"), 201, "created")
	if p := s.send("/", "", key, "k"); p.status != 500 {
		t.Errorf("%d %s", p.status, p.body)
	}
	s.wantOrders(1)
}

func TestLimitsWithoutEndAreNoError(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{Wait: math.MaxInt64, Deadline: math.MaxInt64, MaxAnswer: math.MaxInt, MaxRequest: math.MaxInt64}, nil)
	s.want(s.send("/", "", key, "k"), 201, "created")
	s.want(s.send("/", "", key, "k"), 201, "replayed")
}

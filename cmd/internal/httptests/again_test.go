package httptests

import (
	"net/http"
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

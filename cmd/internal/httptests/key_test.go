package httptests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func TestWithoutAKeyEveryRequestRunsAndNothingIsRemembered(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, nil)
		for _, pairs := range [][]string{nil, nil, {key, ""}, {key, `""`}, {key, "   "}, {key, `"  "`}} {
			s.want(s.send("/", `{}`, append(pairs, ctype, js)...), 201, "")
		}
		s.wantOrders(6)
		if n := s.records(); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

func TestWhereAKeyIsRequiredAnEmptyOneIsMissing(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{Required: true}, nil)
	_ = s.db.Close() // with SQL it would be 503
	for _, pairs := range [][]string{nil, {key, ""}, {key, `""`}, {key, "   "}, {key, `" "`}} {
		p := s.send("/", `{}`, append(pairs, ctype, js)...)
		s.want(p, 400, "invalid")
		if !strings.Contains(p.body, "urn:nebis:problem:key-missing") {
			t.Errorf("got %s", p.body)
		}
	}
	if n := s.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
}

func TestKeysThatDifferInAnythingAreTwoOperations(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, nil)
		keys := []string{"ABC", "abc", "abc.", "abc-", "ABc", strings.Repeat("k", 254), strings.Repeat("k", 255)}
		for _, k := range keys {
			s.want(s.send("/", "", key, k), 201, "created")
		}
		for _, k := range keys {
			s.want(s.send("/", "", key, k), 201, "replayed")
		}
		s.wantOrders(len(keys))
	})
}

func TestAMalformedKeyIs400BeforeAnySQL(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	_ = s.db.Close() // with SQL it would be 503
	for name, pairs := range map[string][]string{
		"256 bytes":         {key, strings.Repeat("k", 256)},
		"10 kB":             {key, strings.Repeat("k", 10_000)},
		"control character": {ctype, form, "form", "idempotency_key=a%01b"},
		"not ASCII":         {key, "k\u00e9"},
		"not UTF-8":         {key, "k\xff"},
		"two lines":         {key, "a", key, "a"},
		"open quote":        {key, `"k`},
	} {
		body := ""
		if pairs[0] == ctype {
			body = pairs[3]
		}
		if p := s.send("/", body, pairs...); p.status != 400 || p.outcome() != "invalid" {
			t.Errorf("%s: got %d %s", name, p.status, p.body)
		}
	}
}

func TestAQuotedKeyAndABareOneAreOneOperation(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	for i, k := range []string{`k`, `"k"`, ` k `, `"k";v=1`, `"k"; a="x\"y";b`} {
		s.want(s.send("/", "", key, k), 201, []string{"created", "replayed", "replayed", "replayed", "replayed"}[i])
	}
	s.want(s.send("/", "", key, `"a\"b\\c"`), 201, "created")
	s.want(s.send("/", "", key, `a"b\c`), 201, "replayed")
	s.wantOrders(2)
}

func TestTheHiddenFieldWinsOverTheHeadersThatABrowserMakesUp(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	s.want(s.send("/", "item=tea&idempotency_key=field", ctype, form, key, "K1"), 201, "created")
	s.want(s.send("/", "item=tea&idempotency_key=field", ctype, form, key, "K2"), 201, "replayed")
	s.wantOrders(1)
}

func TestAKeyUsedElsewhereNeverGetsTheOthersAnswer(t *testing.T) {
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("POST /orders/{id}", s.m.Tx("order", s.place(nil), nil))
		mux.Handle("POST /orders", s.m.Tx("order", s.place(nil), nil))
		mux.Handle("POST /refunds", s.m.Tx("refund", s.place(nil), nil))
	})
	s.want(s.send("/orders/1", "", key, "k"), 201, "created")
	s.want(s.send("/orders/2", "", key, "k"), 422, "mismatch")
	s.want(s.send("/orders", "", key, "k"), 422, "mismatch")
	s.want(s.send("/refunds", "", key, "k"), 201, "created")
	s.want(s.send("/refunds?full=1", "", key, "k"), 422, "mismatch")
	s.wantOrders(2)
}

func TestAKeyThatAScriptMadeByMistakeIsNamed(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	for k, why := range map[string]string{
		"[object Object]": "an object was turned into text",
		"undefined":       "a variable without a value",
		"null":            "an absent value",
		"NaN":             "a failed calculation",
	} {
		for _, p := range []reply{s.send("/", "", key, k), s.send("/", "", key, fmt.Sprintf("%q", k)), s.send("/", "idempotency_key="+k, ctype, form)} {
			if p.status != 400 || !strings.Contains(p.body, why) {
				t.Errorf("%s: got %d %s", k, p.status, p.body)
			}
		}
	}
	s.wantOrders(0)
}

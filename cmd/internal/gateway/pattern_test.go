package gateway

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestAPatternMatchesWhatItSays(t *testing.T) {
	for _, c := range []struct {
		pattern, request string
		want             bool
	}{
		{"POST /checkout", "POST /checkout", true},
		{"POST /checkout", "PUT /checkout", false},
		{"POST /checkout", "GET /checkout", false},
		{"POST /checkout", "POST /checkout?x=1", true},
		{"POST /checkout", "POST /checkout/", false},
		{"POST /checkout", "POST /Checkout", false},
		{"POST /checkout", "POST //checkout", true},
		{"POST /checkout", "POST /a/../checkout", true},
		{"POST /checkout", "POST /./checkout", true},
		{"POST /checkout/", "POST //checkout/", true},
		{"  POST   /checkout ", "POST /checkout", true},
		{"/checkout", "PUT /checkout", true},
		{"/checkout", "DELETE /checkout", true},
		{"/checkout", "GET /checkout", false},
		{"/checkout", "HEAD /checkout", false},
		{"GET /notify.php", "GET /notify.php?trade_no=1", true},
		{"/orders/{id}/refund", "POST /orders/17/refund", true},
		{"/orders/{id}/refund", "POST /orders//refund", false},
		{"/orders/{id}/refund", "POST /orders/1/2/refund", false},
		{"/order-{id}.html", "POST /order-17.html", true},
		{"/order-{id}.html", "POST /order-17xhtml", false},
		{"GET /checkout*", "GET /checkout", true},
		{"GET /checkout*", "GET /checkout/step/2", true},
		{"GET /checkout*", "GET /check", false},
		{"/*/pay", "POST /a/b/pay", true},
		{"POST /flow.php?step=done", "POST /flow.php?step=done", true},
		{"POST /flow.php?step=done", "POST /flow.php?x=1&step=done&y=2", true},
		{"POST /flow.php?step=done", "POST /flow.php?st%65p=d%6Fne", true},
		{"POST /flow.php?step=done", "POST /flow.php?step=cart&step=done", true},
		{"POST /flow.php?step=done", "POST /flow.php?step=%zz&step=done", true},
		{"POST /flow.php?step=done", "POST /flow.php?step=cart", false},
		{"POST /flow.php?step=done", "POST /flow.php", false},
		{"POST /flow.php?step=done", "POST /flow.php?step=done2", false},
		{"POST /flow.php?step", "POST /flow.php?step=", true},
		{"POST /flow.php?step", "POST /flow.php?steps=1", false},
		{"POST /i.php?r=order/{id}/pay&m=*", "POST /i.php?r=order/a/b/pay&m=", true},
		{"POST /a%20b", "POST /a%20b", true},
		{"POST /购物车", "POST /%E8%B4%AD%E7%89%A9%E8%BD%A6", true},
		{"POST /a.b(c)", "POST /a.b(c)", true},
		{"POST /a.b", "POST /axb", false},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		method, target, _ := strings.Cut(c.request, " ")
		if got := p.Matches(httptest.NewRequest(method, target, nil)); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.request, got)
		}
	}
}

func TestAPageIsAlsoTheFormShownAgain(t *testing.T) {
	for _, c := range []struct {
		pattern, request string
		want             bool
	}{
		{"GET /checkout*", "GET /checkout", true},
		{"GET /checkout*", "HEAD /checkout", true},
		{"GET /checkout*", "POST /checkout", true},
		{"GET /checkout*", "OPTIONS /checkout", false},
		{"/checkout", "GET /checkout", true},
		{"POST /checkout", "GET /checkout", false},
		{"POST /checkout", "POST /checkout", true},
	} {
		p, _ := ParsePattern(c.pattern)
		method, target, _ := strings.Cut(c.request, " ")
		if got := p.MatchesPage(httptest.NewRequest(method, target, nil)); got != c.want {
			t.Errorf("%q matches the page of %q: %t", c.pattern, c.request, got)
		}
	}
}

func TestAMalformedPatternSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ pattern, says string }{
		{"", "path is missing"},
		{"POST", "path is missing"},
		{"POST ", "path is missing"},
		{"post /checkout", "in capitals"},
		{"POST checkout", "begins with a slash"},
		{"checkout", "begins with a slash"},
		{"POST,PUT /checkout", "none of the methods"},
		{"POTS /checkout", "none of the methods GET, POST"},
		{"HEAD /checkout", "none of the methods"},
		{"OPTIONS /checkout", "none of the methods"},
		{"POST https://shop.example/checkout", "without scheme and host"},
		{"POST /checkout#pay", "#"},
		{"POST /check out", "%20"},
		{"POST /a\x00b", "%20"},
		{"/orders/{id", "such as {id}"},
		{"/orders/{}", "such as {id}"},
		{"/orders/id}", "such as {id}"},
		{"/orders/{a{b}", "such as {id}"},
		{"/orders/{a/b}", "such as {id}"},
		{"/orders/{id}/{id}", "twice"},
		{"/orders/**", "two *"},
		{"/orders/50%", "%25"},
		{"/flow.php?", "?step=done"},
		{"/flow.php?=x", "?step=done"},
		{"/flow.php?a=1&", "?step=done"},
		{"/flow.php?s*=1", "?step=done"},
		{"/flow.php?step={}", "such as {id}"},
	} {
		if _, err := ParsePattern(c.pattern); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, wanted %q", c.pattern, err, c.says)
		}
	}
}

func TestThePatternThatSaysMoreWins(t *testing.T) {
	// Each line from the one that says most to the one that says least; all of a
	// line match its request.
	for _, c := range []struct {
		request  string
		patterns []string
	}{
		{"POST /orders/17", []string{"POST /orders/17", "/orders/17", "POST /orders/{id}", "/orders/{id}", "POST /orders/*", "/orders*", "/*"}},
		{"POST /checkout", []string{"/checkout", "/checkout*", "/check*"}},
		{"POST /flow.php?step=done&x=1", []string{
			"/flow.php?step=done&x=1", "POST /flow.php?step=done", "/flow.php?step=done", "/flow.php?step={s}", "/flow.php?step", "POST /flow.php", "/flow.php",
		}},
		{"POST /ab", []string{"/a*b", "/a*"}},
		{"POST /a/b/c", []string{"/a/b/{y}", "/a/{x}/c"}},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequest(method, target, nil)
		var all []Pattern
		for _, s := range c.patterns {
			p, err := ParsePattern(s)
			if err != nil || !p.Matches(r) {
				t.Fatalf("%q does not match %q: %v", s, c.request, err)
			}
			all = append(all, p)
		}
		for first := range all {
			rest := slices.Clone(all[first:])
			slices.Reverse(rest)
			i, _ := best(len(rest), func(i int) Pattern { return rest[i] }, func(p Pattern) bool { return p.Matches(r) })
			if got := rest[i].String(); got != all[first].String() {
				t.Errorf("%q: %q won over %q", c.request, got, all[first])
			}
		}
	}
}

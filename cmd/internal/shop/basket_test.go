package shop

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// visitor is a client who has opened a page with a form, as a browser would, and
// keeps the cookies that it was given.
func visitor(t *testing.T, s *Shop) client {
	c := serve(t, s)
	var cookies []string
	for _, line := range c.get("/basket").header.Values("Set-Cookie") {
		pair, _, _ := strings.Cut(line, ";")
		cookies = append(cookies, pair)
	}
	c.cookie = strings.Join(cookies, "; ")
	return c
}

var hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// formIn reads the hidden fields of the form with the given start tag.
func formIn(t *testing.T, page, start string) url.Values {
	t.Helper()
	_, rest, ok := strings.Cut(page, start)
	form, _, ends := strings.Cut(rest, "</form>")
	if !ok || !ends {
		t.Fatalf("no %s in %s", start, page)
	}
	fields := url.Values{}
	for _, f := range hiddenFields.FindAllStringSubmatch(form, -1) {
		fields.Add(f[1], f[2])
	}
	return fields
}

const orderForm = `<form id="order"`

func TestTwoTabsOfOneBasketAreOneOrderAndTwoBasketsTwo(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		c := visitor(t, openShop(t, dbURL))
		c.submit("/basket", url.Values{"more": {"1"}})
		c.submit("/basket", url.Values{"more": {"1"}})
		one, two := formIn(t, c.get("/basket").body, orderForm), formIn(t, c.get("/basket").body, orderForm)
		for i, outcome := range []string{"created", "replayed"} {
			tab := []url.Values{one, two}[i]
			if to := c.submit("/basket/order", tab).want(t, 303, outcome).header.Get("Location"); to != "/orders/1" {
				t.Errorf("tab %d is led to %s", i, to)
			}
		}
		c.submit("/basket", url.Values{"more": {"1"}})
		c.submit("/basket/order", formIn(t, c.get("/basket").body, orderForm)).want(t, 303, "created")
		list := c.list()
		if list.Count != 2 || list.Orders[1].Qty != 2 || list.Orders[0].Qty != 1 {
			t.Errorf("%v", list)
		}
	})
}

func TestABasketThatHasChangedIsNotOrdered(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	c.submit("/basket", url.Values{"more": {"1"}})
	old := formIn(t, c.get("/basket").body, orderForm)
	c.submit("/basket", url.Values{"more": {"1"}})
	if to := c.submit("/basket/order", old).want(t, 303, "released").header.Get("Location"); to != "/basket" {
		t.Errorf("led to %s", to)
	}
	if page := c.get("/basket").body; !strings.Contains(page, "changed or ordered in another window") {
		t.Error(page)
	}
	// A page from before the order of another tab, with a key of its own.
	c.submit("/basket/order", formIn(t, c.get("/basket").body, orderForm)).want(t, 303, "created")
	c.submit("/basket/order", old).want(t, 303, "released")
	for _, bad := range []url.Values{{}, {"number": {"x"}, "version": {"0"}}, {"number": {"2"}, "version": {"-1"}}, {"number": {"2"}, "version": {"0"}}} {
		c.submit("/basket/order", bad).want(t, 303, "")
	}
	if n := c.list().Count; n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestTheNoticeIsShownOnceWhicheverAnswerTheBrowserFollows(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	fields := url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}, "delay_ms": {"100"}}
	thanks := func() int { return strings.Count(c.get("/orders").body, "Thank you: order 1 is in.") }
	atOnce(5, func(int) answer { return c.submit("/orders", fields) })
	c.submit("/orders", fields).want(t, 303, "replayed")
	if first, second := thanks(), thanks(); first != 1 || second != 0 {
		t.Errorf("shown %d and %d times", first, second)
	}
	c.submit("/orders", fields).want(t, 303, "replayed")
	if again := thanks(); again != 0 {
		t.Error("a replay thanked again")
	}
}

func TestTheLivePageDoesNotUseTheNoticeUp(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}})
	c.do("HEAD", "/orders", "", "", "")
	refresh, err := http.NewRequestWithContext(t.Context(), "GET", c.base+"/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	refresh.Header = http.Header{"Live": {"1"}, "Cookie": {c.cookie}}
	res, err := c.http.Do(refresh)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if page := c.get("/orders").body; !strings.Contains(page, "Thank you: order 1") {
		t.Error(page)
	}
}

func TestAnOrderThatFailedIsNotAnnounced(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}, "fail": {"error"}}).want(t, 500, "released")
	if page := c.get("/orders").body; strings.Contains(page, "Thank you") {
		t.Error(page)
	}
}

func TestLikesAndViewsCountEachVisitorOnce(t *testing.T) {
	s := openShop(t, dburltest.SQLite(t))
	c := visitor(t, s)
	for range 3 {
		c.submit("/likes", nil).want(t, 303, "")
		c.get("/free").want(t, 200, "")
	}
	c.cookie = "shop_visitor=somebody-else"
	c.submit("/likes", nil)
	if likes, views := s.likes.n.Load(), s.views.n.Load(); likes != 2 || views != 1 {
		t.Errorf("%d likes, %d views", likes, views)
	}
}

func TestAnUpdateWithAConditionNeedsNoKey(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}})
	if page := c.get("/orders/1").body; !strings.Contains(page, `action="/orders/1/pickup"`) {
		t.Error(page)
	}
	mine := c.cookie
	c.cookie = "shop_visitor=somebody-else"
	c.submit("/orders/1/pickup", nil).want(t, 303, "")
	if o := c.list().Orders[0]; o.Status != "accepted" {
		t.Errorf("somebody else picked it up: %v", o)
	}
	c.cookie = mine
	for range 2 {
		c.submit("/orders/1/pickup", nil).want(t, 303, "")
	}
	if o := c.list().Orders[0]; o.Status != "picked-up" {
		t.Errorf("%v", o)
	}
	c.submit("/orders/x/pickup", nil).want(t, 303, "")
}

func TestAFormThatWasEditedAfterItsSendLeadsOn(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	fields := url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}}
	c.submit("/orders", fields).want(t, 303, "created")
	fields.Set("qty", "2")
	page := c.submit("/orders", fields).want(t, 422, "mismatch").body
	if list := c.get("/orders").body; !strings.Contains(list, "<b>2</b> requests") || !strings.Contains(list, "<b>1</b> order<") {
		t.Errorf("a mismatch is counted as an order: %s", list)
	}
	if !strings.Contains(page, `<a class="button" href="/orders/1">`) {
		t.Error(page)
	}
	anew := formIn(t, page, `<div class="anew"><form`)
	if anew.Get("qty") != "2" {
		t.Errorf("%v", anew)
	}
	c.submit("/orders", anew).want(t, 303, "created")
}

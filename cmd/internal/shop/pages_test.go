package shop

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/outbox"
)

func TestEveryTextIsThereInBothLanguages(t *testing.T) {
	verbs := regexp.MustCompile(`%[a-z]`)
	for key, text := range texts {
		if text.en == "" || text.zh == "" {
			t.Errorf("%q is incomplete", key)
		}
		en, zh := verbs.FindAllString(text.en, -1), verbs.FindAllString(text.zh, -1)
		if strings.Join(en, "") != strings.Join(zh, "") {
			t.Errorf("%q takes %v in English and %v in Chinese", key, en, zh)
		}
	}
	for _, key := range composed() {
		if say(english, key) == "["+key+"]" {
			t.Errorf("there is no %s", key)
		}
	}
}

// composed are the texts whose keys the program puts together.
func composed() (keys []string) {
	for _, g := range shelf {
		keys = append(keys, g.Code, g.Code+"_about")
	}
	for _, kind := range []string{paid, paidLate, couponAdded, couponGiven, noCoupon, pickedUp, cancelled, refundAdded, refunded, credited, withdrawAdded, couponWithdrawn} {
		keys = append(keys, "life_event_"+kind)
	}
	keys = append(keys, accepted, paid, pickedUp, cancelled, refunding, refunded, credited)
	for _, outcome := range []string{"accepted", "duplicate", "refused", "busy", "failed"} {
		keys = append(keys, "life_callback_"+outcome)
	}
	for _, service := range callOf {
		keys = append(keys, "service_"+service)
	}
	for _, mood := range moods {
		keys = append(keys, "mood_"+mood)
	}
	for _, state := range outbox.States() {
		keys = append(keys, "life_state_"+string(state))
	}
	return keys
}

// oddities are what a page shows when a text or its arguments are missing.
var oddities = regexp.MustCompile(`\[[a-z_0-9-]+\]|%!|&lt;no value|<no value|\{\{`)

func TestEveryPageIsWholeInBothLanguages(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	fields := url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}}
	c.submit("/orders", fields)
	c.submit("/orders", fields)
	c.submit("/naive/orders", fields)
	c.submit("/naive/orders", fields)
	c.submit("/orders", url.Values{"item": {"last-cup"}, "qty": {"1"}})
	for _, lang := range []string{"en", "zh"} {
		c.cookie = "shop_lang=" + lang
		pages := map[string]answer{
			"naive sold out": c.submit("/naive/orders", url.Values{"item": {"last-cup"}, "qty": {"1"}}),
			"sold out":       c.submit("/orders", url.Values{"item": {"last-cup"}, "qty": {"1"}}),
			"failed":         c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "fail": {"500"}}),
			"failed badly":   c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "fail": {"panic"}}),
			"naive failed":   c.submit("/naive/orders", url.Values{"item": {"tea"}, "qty": {"1"}, "fail": {"error"}}),
			"unknown item":   c.submit("/orders", url.Values{"item": {"x"}, "qty": {"1"}}),
			"wrong quantity": c.submit("/orders", url.Values{"item": {"tea"}, "qty": {"x"}}),
			"batch":          c.submit("/batch", url.Values{"idempotency_key": {"b"}, "first": {"1"}}),
			"naive wrong":    c.submit("/naive/orders", url.Values{"item": {"tea"}, "qty": {""}}),
		}
		for _, path := range []string{"/", "/goods/tea", "/goods/last-cup", "/goods/x", "/orders", "/orders/1", "/orders/2", "/orders/3", "/orders/99", "/orders/1/life", "/orders/99/life", "/provider/1", "/provider/99", "/basket", "/batch", "/client", "/free", "/x"} {
			pages[path] = c.get(path)
		}
		for name, a := range pages {
			if found := oddities.FindString(a.body); found != "" || !strings.HasSuffix(a.body, "</html>\n") {
				t.Errorf("%s in %s: %q; %s", name, lang, found, a.body)
			}
			if !strings.HasPrefix(a.header.Get("Content-Language"), lang) {
				t.Errorf("%s in %s is in %s", name, lang, a.header.Get("Content-Language"))
			}
		}
	}
}

func TestTheLanguageIsAskedForChosenOrPreferred(t *testing.T) {
	for _, c := range []struct{ query, cookie, accept, want string }{
		{"", "", "", english},
		{"", "", "de-DE,zh;q=0.8,en;q=0.5", chinese},
		{"", "", "en-GB,zh;q=0.9", english},
		{"", "", "zh-TW", chinese},
		{"", "zh", "en", chinese},
		{"?lang=en", "zh", "zh", english},
		{"?lang=zh-CN", "", "en", chinese},
		{"?lang=xx", "", "zh", chinese},
	} {
		r, _ := http.NewRequest(http.MethodGet, "/"+c.query, nil)
		r.Header.Set("Accept-Language", c.accept)
		r.AddCookie(&http.Cookie{Name: langCookie, Value: c.cookie})
		if got := langOf(r); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// keyIn reads the key of the protected form without the client.
func keyIn(t *testing.T, page string) string {
	t.Helper()
	key := formIn(t, page, `<form id="guarded"`).Get("idempotency_key")
	if key == "" {
		t.Fatalf("no key in %s", page)
	}
	return key
}

func TestARefusedFormComesBackWithItsKeyAndCanBeCorrected(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	key := keyIn(t, c.get("/goods/tea").body)
	fields := url.Values{"idempotency_key": {key}, "item": {"tea"}, "qty": {`1"><b>`}, "delay_ms": {"0"}}
	back := c.submit("/orders", fields).want(t, 400, "released")
	if keyIn(t, back.body) != key {
		t.Error("it has another key")
	}
	if !strings.Contains(back.body, "1 to 99") || !strings.Contains(back.body, "1&#34;&gt;&lt;b&gt;") {
		t.Errorf("got %s", back.body)
	}
	fields.Set("qty", "2")
	if to := c.submit("/orders", fields).want(t, 303, "created").header.Get("Location"); to != "/orders/1" {
		t.Errorf("led to %s", to)
	}
}

func TestEachFormPageHasItsOwnKeyAndIsNotStored(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	one, two := c.get("/goods/tea"), c.get("/goods/tea")
	if keyIn(t, one.body) == keyIn(t, two.body) {
		t.Error("two pages share a key")
	}
	if got := one.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: %s", got)
	}
}

func TestTheResultPageTellsWhatHappenedWithoutACookie(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	fields := url.Values{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}}
	for i, want := range []string{"Ordered.", "Sent twice. Happened once.", "Sent 3 times. Happened once."} {
		to := c.submit("/orders", fields).header.Get("Location")
		if page := c.get(to); to != "/orders/1" || !strings.Contains(page.body, want) {
			t.Errorf("send %d: %s: %s", i+1, to, page.body)
		}
	}
	for _, want := range []string{"without protection", "Sent twice. Happened twice."} {
		to := c.submit("/naive/orders", fields).header.Get("Location")
		if page := c.get(to); !strings.Contains(strings.ToLower(page.body), strings.ToLower(want)) {
			t.Errorf("%s lacks %q: %s", to, want, page.body)
		}
	}
	changed := url.Values{"item": {"tea"}, "qty": {"2"}, "idempotency_key": {"k"}}
	c.submit("/orders", changed).want(t, 422, "mismatch")
	list := c.get("/orders").body
	for _, want := range []string{"3 orders", "<b>4</b> requests", "Repeats, each given the first answer: 2", "Without an order: 1 (", "<b>1</b> order<", "the same again"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q: %s", want, list)
		}
	}
}

func TestStoppingFinishesTheOrdersThatRun(t *testing.T) {
	s := openShop(t, dburltest.SQLite(t))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := make(chan struct{})
	work := s.Handler()
	closed := make(chan error, 1)
	go func() {
		closed <- Serve(ctx, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			work.ServeHTTP(w, r)
		}), s.log)
	}()
	answered := make(chan answer, 1)
	c := newClient(t, "http://"+ln.Addr().String())
	go func() { answered <- c.order("k", `{"item":"tea","qty":1,"delay_ms":300}`) }()
	<-began
	stop()
	(<-answered).want(t, 201, "created")
	if err := <-closed; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", ln.Addr().String(), time.Second); err == nil {
		t.Error("the door is still open")
	}
}

package shop

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/nebisjs"
)

func TestEveryPageLoadsTheClientAndTheShopServesIt(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	for _, path := range []string{"/", "/goods/tea", "/basket", "/batch", "/client", "/x"} {
		if page := c.get(path).body; !strings.Contains(page, string(nebisjs.Script(clientPath))) {
			t.Errorf("%s: %s", path, page)
		}
	}
	script := c.get(clientPath+nebisjs.Global.Name).want(t, 200, "")
	if script.body != nebisjs.Global.Text {
		t.Error("the shop serves something else")
	}
}

// The words that the script asks for by name, and the page's parts.
var (
	asked = regexp.MustCompile(`(?:tell\('|words\.|line = '|repeat\(')([a-z_]+)`)
	parts = regexp.MustCompile(`(?:place|show)\('([a-z]+)'`)
)

func TestTheClientsPageHasEverythingThatItsScriptAsksFor(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	code, err := os.ReadFile("assets/client.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range []string{"en", "zh"} {
		page := c.get("/client?lang=" + lang).body
		_, rest, _ := strings.Cut(page, `id="words">`)
		text, _, _ := strings.Cut(rest, "</script>")
		words := map[string]string{}
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, m := range asked.FindAllStringSubmatch(string(code), -1) {
			if name := m[1]; words[name] == "" {
				t.Errorf("%s: there is no %q", lang, name)
			}
		}
		for _, m := range parts.FindAllStringSubmatch(string(code), -1) {
			if !strings.Contains(page, `id="`+m[1]+`"`) {
				t.Errorf("%s: there is no part %q", lang, m[1])
			}
		}
	}
}

func TestALostAnswerComesWithALaterTry(t *testing.T) {
	s := openShop(t, dburltest.SQLite(t))
	c := visitor(t, s)
	var got answer
	for range 3 {
		got = c.lost("k")
		if got.status != 0 {
			break
		}
	}
	got.want(t, 201, "replayed")
	if answers := s.tally.answers(1); len(answers) != 3 || c.list().Count != 1 {
		t.Errorf("answers: %v; orders: %v", answers, c.list())
	}
}

// lost sends an order whose answer the shop loses, or not. Go sends a request with
// a key again by itself, as browsers do.
func (c client) lost(key string) (got answer) {
	c.t.Helper()
	req := c.request("POST", "/api/orders/lost", "application/json", `{"item":"tea","qty":1}`, key)
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}
	}
	return c.read(res)
}

func TestWhereADuplicateDoesNotWaitItIsToldSo(t *testing.T) {
	s := openShop(t, dburltest.SQLite(t))
	c := visitor(t, s)
	send := func(int) answer {
		return c.do("POST", "/api/orders/at-once", "application/json", `{"item":"tea","qty":1,"delay_ms":1500}`, "k")
	}
	both := atOnce(2, send)
	if both[0].outcome() != "created" {
		both[0], both[1] = both[1], both[0]
	}
	both[0].want(t, 201, "created")
	if both[1].want(t, 409, "in-progress").header.Get("Retry-After") == "" {
		t.Error(both[1].header)
	}
	send(0).want(t, 201, "replayed")
	if n := c.list().Count; n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestAnOrderWithoutAKeyIsPromisedNothing(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	fields := url.Values{"item": {"tea"}, "qty": {"1"}}
	c.submit("/orders", fields).want(t, 303, "")
	page := c.get("/orders/1").body
	if !strings.Contains(page, "without a key") || strings.Contains(page, "this very page") {
		t.Error(page)
	}
	c.submit("/orders", fields).want(t, 303, "")
	if page := c.get("/orders/2").body; !strings.Contains(page, "Sent twice. Happened twice.") {
		t.Error(page)
	}
	if list := c.get("/orders").body; strings.Count(list, `<span class="tag bad">no key</span>`) != 2 {
		t.Error(list)
	}
}

func TestARefusedFormOfTheClientComesBackItself(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	fields := formIn(t, c.get("/goods/tea").body, `<form id="client"`)
	fields.Set("qty", "0")
	page := c.submit("/orders", fields).want(t, 400, "released").body
	if !strings.Contains(page, `id="client-problem"`) || strings.Contains(page, `id="guarded-problem"`) {
		t.Error(page)
	}
	again := formIn(t, page, `<form id="client"`)
	again.Set("qty", "2")
	c.submit("/orders", again).want(t, 303, "created")
}

func TestOneIsNotPlural(t *testing.T) {
	c := visitor(t, openShop(t, dburltest.SQLite(t)))
	c.submit("/likes", nil)
	page := c.get("/free").body
	for _, want := range []string{"<b>1</b> like<", "<b>1</b> view<"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
}

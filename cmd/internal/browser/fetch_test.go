package browser

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// In these tests the page calls the client. send sends an order; told says what the
// page would learn of it; hurried ends each wait for another try at once, as being
// online again does; seen is what each of the waits was for.
const prelude = `
	seen = []
	act = nebis.action("order")
	send = (item, init) => act.fetch("/orders", {
		body: JSON.stringify({item}), headers: {"Content-Type": "application/json"}, ...init})
	told = promise => promise.then(answer => nebis.outcome(answer), error => error.name)
	hurried = {onretry: ({wait, response}) => {
		seen.push(response?.status)
		setTimeout(() => dispatchEvent(new Event("online")))
	}}
	waits = {onretry: ({wait}) => { seen.push(wait); stop.abort() }}
	stop = new AbortController()
	waits.signal = stop.signal
	void 0`

// call is one test of the client from the page.
type call struct {
	meet       []fault
	slow       bool
	js         string // an expression, awaited
	want       string
	sent, keys int
	orders     int
}

// many is as often as it takes.
const many = -1

func callAll(t *testing.T, calls map[string]call) {
	t.Helper()
	b := newWindow(t, browser(t))
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			b := tab{t, b.ctx}
			b.do(visit(s.url+"/form?look=app"), until("window.nebis"), script(prelude))
			if c.slow {
				s.slow()
			}
			s.next(c.meet...)
			if got := b.eval(c.js); got != c.want {
				t.Errorf("%s\nis  %s\nnot %s", c.js, got, c.want)
			}
			s.hurry()
			s.want(c.orders)
			if c.sent == many {
				c.sent = len(s.arrivals())
			}
			s.wantSent(c.sent, c.keys)
		})
	}
}

var (
	released = reply(http.StatusUnprocessableEntity, "Idempotency-Status", "released")
	open     = reply(http.StatusConflict, "Idempotency-Status", "unknown")
	busy409  = reply(http.StatusConflict, "Idempotency-Status", "in-progress", "Retry-After", "1")
)

func TestAnIntentHasOneKey(t *testing.T) {
	t.Parallel()
	callAll(t, map[string]call{
		"two calls at once are one request, and each has its own copy of the answer": {
			js:   `Promise.all([send("tea"), send("tea")].map(async answer => (await (await answer).json()).id))`,
			want: "1,1", sent: 1, keys: 1, orders: 1,
		},
		"every try has the same key": {
			meet: []fault{reply(503), reply(429), reply(425), reply(502), reply(504), busy409},
			js:   `told(send("tea", hurried)).then(word => word + " " + seen)`,
			want: "created 503,429,425,502,504,409", sent: 7, keys: 1, orders: 1,
		},
		"an answer that is cut off is none": {
			meet: []fault{cutAnswer},
			js:   `told(send("tea", hurried)).then(word => word + " " + seen.length)`,
			want: "replayed 1", sent: 2, keys: 1, orders: 1,
		},
		"after success it is another": {
			js:   `told(send("tea")).then(async word => [word, act.key, await told(send("tea"))])`,
			want: "created,,created", sent: 2, keys: 2, orders: 2,
		},
		"after an answer that is gone it is another": {
			meet: []fault{reply(410, "Idempotency-Status", "not-kept")},
			js:   `told(send("tea")).then(async word => [word, act.key, await told(send("tea"))])`,
			want: "not-kept,,created", sent: 2, keys: 2, orders: 1,
		},
		"another action has another": {
			js:   `(async () => { const one = send("tea"); act = nebis.action("pay"); return Promise.all([one, send("tea")].map(told)) })()`,
			want: "created,created", sent: 2, keys: 2, orders: 2,
		},
		"renew begins another": {
			meet: []fault{open},
			js:   `told(send("tea")).then(async word => { act.renew(); return [word, act.key, await told(send("coffee"))] })`,
			want: "unknown,,created", sent: 2, keys: 2, orders: 1,
		},
		"without an answer it stays": {
			meet: []fault{loseRequest, loseRequest, loseRequest, loseRequest, loseRequest},
			js:   `(async () => { while (await told(send("tea", {limit: 1})) == "TypeError"); return act.key })()`,
			want: "undefined", sent: 6, keys: 1, orders: 1,
		},
	})
}

func TestAnotherBodyIsAskedAboutWhileTheOutcomeIsOpen(t *testing.T) {
	t.Parallel()
	later := func(meet ...fault) call {
		return call{meet: meet, sent: len(meet), keys: 1,
			js: `told(send("tea", hurried)).then(async () => [await told(send("coffee")), typeof act.key])`, want: "OpenError,string"}
	}
	callAll(t, map[string]call{
		"under way": {
			slow: true, js: `(send("tea"), fetch("/arrived/1").then(() => told(send("coffee"))))`,
			want: "OpenError", sent: 1, keys: 1, orders: 1,
		},
		"form data": {
			slow: true, js: `(act.fetch("/orders", {body: new FormData(order)}), order.item.value = "coffee",
				fetch("/arrived/1").then(() => told(act.fetch("/orders", {body: new FormData(order)}))))`,
			want: "OpenError", sent: 1, keys: 1, orders: 1,
		},
		"to another address": {
			slow: true, js: `(send("tea"), fetch("/arrived/1").then(() => told(act.fetch("/orders?now", {body: JSON.stringify({item: "tea"})}))))`,
			want: "OpenError", sent: 1, keys: 1, orders: 1,
		},
		"not known":               later(open),
		"an error without a word": later(reply(500)),
		// A refusal says nothing of the try before it.
		"refused after a try that may have done it": later(reply(503), reply(403)),
	})
}

func TestAnotherBodyAfterACertainFailureIsAnotherKey(t *testing.T) {
	t.Parallel()
	failed := func(meet fault) call {
		return call{meet: []fault{meet}, sent: 2, keys: 2, orders: 1,
			js: `told(send("tea")).then(() => told(send("coffee")))`, want: "created"}
	}
	callAll(t, map[string]call{
		"released": failed(released),
		"mismatch": failed(reply(422, "Idempotency-Status", "mismatch")),
		"invalid":  failed(reply(400, "Idempotency-Status", "invalid")),
		"refused":  failed(reply(403)),
		"released after a try that was not answered": {
			meet: []fault{reply(503), released}, sent: 3, keys: 2, orders: 1,
			js: `told(send("tea", hurried)).then(() => told(send("coffee")))`, want: "created",
		},
		"the same body is the same key": {
			meet: []fault{released}, sent: 2, keys: 1, orders: 1,
			js: `told(send("tea")).then(() => told(send("tea")))`, want: "created",
		},
	})
}

func TestFetchWithAKeyOfOnesOwn(t *testing.T) {
	t.Parallel()
	init := `method: "POST", body: JSON.stringify({item: "tea"}), headers: {"Content-Type": "application/json"}`
	callAll(t, map[string]call{
		"none is refused": {js: `told(nebis.fetch("/orders", {` + init + `}))`, want: "Error"},
		"it is the one that is sent": {meet: []fault{reply(503)}, sent: 3, keys: 1, orders: 1,
			js: `told(nebis.fetch("/orders", {key: "mine", ...hurried, ` + init + `})).then(async word =>
				[word, await told(nebis.fetch("/orders", {key: "mine", ` + init + `}))])`, want: "created,replayed"},
	})
}

func TestTheOutcome(t *testing.T) {
	t.Parallel()
	_, b := start(t, browser(t), fetch)
	outcome := func(status int, word string) string {
		header := ""
		if word != "" {
			header = fmt.Sprintf(`"Idempotency-Status": %q`, word)
		}
		return b.eval(fmt.Sprintf(`nebis.outcome(new Response(null, {status: %d, headers: {%s}}))`, status, header))
	}
	for _, word := range []string{"created", "replayed", "released", "in-progress", "mismatch", "invalid", "not-kept", "unknown", "unavailable"} {
		for _, status := range []int{200, 409, 503} {
			if got := outcome(status, word); got != word {
				t.Errorf("%d %s is %s", status, word, got)
			}
		}
	}
	for status, want := range map[int]string{
		200: "done", 201: "done", 303: "done", 400: "refused", 403: "refused", 404: "refused", 410: "refused", 422: "refused",
		408: "unknown", 409: "unknown", 425: "unknown", 429: "unknown", 500: "unknown", 502: "unknown", 504: "unknown",
	} {
		if got := outcome(status, ""); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}

func TestAKeyIsAUUIDInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	_, b := start(t, browser(t), fetch)
	got := b.eval(`(() => {
		const from = Date.now(), keys = [...Array(1000)].map(nebis.newKey), to = Date.now()
		const time = key => parseInt(key.slice(0, 8) + key.slice(9, 13), 16)
		return [new Set(keys).size, keys.every(key => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/.test(key)),
			keys.every(key => time(key) >= from && time(key) <= to)]
	})()`)
	if got != "1000,true,true" {
		t.Errorf("different, well-formed, in time: %s", got)
	}
}

func TestAnIntentIsKeptOverAReload(t *testing.T) {
	t.Parallel()
	s, b := start(t, browser(t), fetch)
	b.do(script(prelude))
	s.next(open)
	b.eval(`send("tea")`)
	key := b.eval("act.key")
	b.do(chromedp.Reload(), painted, until("window.nebis"), script(prelude))
	if got := b.eval(`act.key + " " + await told(send("coffee")) + " " + await told(send("tea")) + " " + act.key`); got != key+" OpenError created undefined" {
		t.Errorf("%s; the key was %s", got, key)
	}
	s.want(1)
	s.wantSent(2, 1)
}

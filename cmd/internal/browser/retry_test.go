package browser

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestWhatIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	calls := map[string]call{}
	for _, status := range []int{400, 404, 409, 422, 500, 501} {
		calls[strconv.Itoa(status)] = call{meet: []fault{reply(status)}, sent: 1, keys: 1,
			js: `send("tea", hurried).then(answer => [answer.status, seen.length])`, want: fmt.Sprintf("%d,0", status)}
	}
	callAll(t, calls)
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	after := func(value, test string) call {
		return call{meet: []fault{reply(503, "Retry-After", value)}, sent: 1, keys: 1,
			js: `told(send("tea", waits)).then(word => [word, ` + test + `])`, want: "AbortError,true"}
	}
	callAll(t, map[string]call{
		"in seconds":                after("7", "seen == 7000"),
		"as a date":                 after(in(30*time.Second), "seen > 1000 && seen <= 30000"),
		"a date that has passed":    after(in(-time.Hour), "seen >= 500 && seen <= 1000"),
		"at once is after a moment": after("0", "seen >= 500 && seen <= 1000"),
		"what nobody can read":      after("soon", "seen >= 500 && seen <= 1000"),
		"longer than the limit is the answer": {meet: []fault{reply(503, "Retry-After", "3600")}, sent: 1, keys: 1,
			js: `told(send("tea", waits)).then(word => [word, seen])`, want: "unknown,"},
		"a date longer than the limit": {meet: []fault{reply(503, "Retry-After", in(time.Hour))}, sent: 1, keys: 1,
			js: `told(send("tea", waits)).then(word => [word, seen])`, want: "unknown,"},
	})
}

func TestTheBackOffGrows(t *testing.T) {
	t.Parallel()
	callAll(t, map[string]call{"after each try": {
		meet: []fault{reply(503), reply(503), reply(503)}, sent: 4, keys: 1, orders: 1,
		js: `send("tea", {onretry: ({wait}) => { seen.push(wait); setTimeout(() => dispatchEvent(new Event("online"))) }})
			.then(() => seen.map((wait, i) => wait >= 500 * 2 ** i && wait <= 1000 * 2 ** i))`,
		want: "true,true,true",
	}})
}

func TestTheLimit(t *testing.T) {
	t.Parallel()
	callAll(t, map[string]call{
		"of all tries": {meet: []fault{reply(503)}, sent: 1, keys: 1,
			js: `told(send("tea", {...hurried, limit: 1}))`, want: "unknown"},
		"of a try: it is left alone, and the next gets its answer": {slow: true, sent: many, keys: 1, orders: 1,
			js: `told(send("tea", {timeout: 300, onretry() {
				seen[0] = "again"; void fetch("/arrived/2").then(() => fetch("/hurry")); setTimeout(() => dispatchEvent(new Event("online")))
			}})).then(word => word + " " + seen)`, want: "replayed again"},
	})
}

func TestTheSignalOfTheCaller(t *testing.T) {
	t.Parallel()
	callAll(t, map[string]call{
		"ends a request, and the next call has the same key": {slow: true, sent: 2, keys: 1, orders: 1,
			js: `(async () => {
				const gone = told(send("tea", {signal: stop.signal}))
				await fetch("/arrived/1")
				stop.abort()
				const first = await gone, again = told(send("tea"))
				await fetch("/arrived/2")
				await fetch("/hurry")
				return first + " " + await again
			})()`, want: "AbortError replayed"},
		"given up and called again in one breath": {slow: true, sent: 2, keys: 1, orders: 1,
			js: `(async () => {
				const gone = told(send("tea", {signal: stop.signal}))
				await fetch("/arrived/1")
				stop.abort()
				const again = told(send("tea"))
				await fetch("/arrived/2")
				await fetch("/hurry")
				return await gone + " " + await again
			})()`, want: "AbortError replayed"},
		"ends a wait": {meet: []fault{reply(503, "Retry-After", "60")}, sent: 1, keys: 1,
			js: `told(send("tea", waits))`, want: "AbortError"},
	})
}

// Something has answered, though not the last time.
func TestTheLastAnswerIsBetterThanNone(t *testing.T) {
	t.Parallel()
	s, b := start(t, browser(t), fetch)
	b.do(script(prelude))
	s.next(reply(503, "Retry-After", "1"))
	s.meet(loseRequest)
	b.do(script(`window.last = 0; void send("tea", {limit: 1900}).then(answer => last = answer.status, error => last = error)`), until("last"))
	if got := b.eval("last"); got != "503" {
		t.Errorf("it ended with %s", got)
	}
	if len(s.arrivals()) < 2 {
		t.Error("it did not try again")
	}
}

//go:build wip

package browser

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// way is one way to send an order.
type way struct {
	name, look string
	noScripts  bool
}

var (
	plainForm   = way{name: "plain form", look: plain}
	guardedForm = way{name: "form with the client", look: guarded}
	ownForm     = way{name: "form with the client's field", look: own}
	noScript    = way{name: "scripts off", look: guarded, noScripts: true}
	fetch       = way{name: "action().fetch", look: app}
	unprotected = way{name: "without protection", look: naive}

	protected = []way{plainForm, guardedForm, ownForm, noScript, fetch}
)

// start opens a site of its own, and its form in a new tab.
func start(t *testing.T, browser context.Context, w way) (*site, tab) {
	t.Helper()
	s := newSite(t)
	return s, w.visit(t, browser, s.url)
}

func (w way) visit(t *testing.T, browser context.Context, base string) tab {
	t.Helper()
	b := newTab(t, browser)
	if w.noScripts {
		b.do(noScripts)
	}
	b.do(visit(base + "/form?look=" + w.look))
	return b
}

// each runs a test for each way, with a browser for all of them.
func each(t *testing.T, ways []way, test func(t *testing.T, browser context.Context, w way)) {
	t.Helper()
	browser := chrome(t, nil)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { test(t, browser, w) })
	}
}

var order = click("#order button")

// twice clicks, takes the steps, and clicks again.
func twice(between ...step) step { return clicks("#order button", between...) }

// Cases 40 and 41.
func TestADoubleClickIsOneOrder(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		for _, pause := range []time.Duration{0, 60 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond} {
			t.Run(pause.String(), func(t *testing.T) {
				s, b := start(t, browser, w)
				s.slow()
				b.do(twice(chromedp.Sleep(pause)), s.arrived(1), then(s.hurry), result)
				s.want(1)
				if w == guardedForm || w == ownForm || w == fetch {
					s.wantSent(1, 1)
				}
			})
		}
	})
}

// Case 40: the browser drops the first request and shows the second's answer.
func TestBothOfTwoPostsLeadToTheSameResult(t *testing.T) {
	each(t, []way{plainForm, noScript}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(twice(s.arrived(1)), s.arrived(2), then(s.hurry), result)
		s.want(1)
		s.wantSent(2, 1)
	})
}

func TestTheUnprotectedFormOrdersTwice(t *testing.T) {
	each(t, []way{unprotected}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(twice(s.arrived(1)), s.arrived(2), then(s.hurry), result)
		s.want(2)
	})
}

// Case 41.
func TestEnterTwiceIsOneOrder(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(click("#order [name=item]"), enter, enter, s.arrived(1), then(s.hurry), result)
		s.want(1)
	})
}

// Case 41.
func TestSeveralHandlersThatSubmitAreOneOrder(t *testing.T) {
	each(t, []way{plainForm, guardedForm, ownForm, fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(script(`order.requestSubmit(); order.requestSubmit()`), s.arrived(1),
			script(`order.requestSubmit(document.querySelector("#order button"))`), then(s.hurry), result)
		s.want(1)
	})
}

// Case 42. A form keeps its key; the script has seen that its order is done, so
// that a click is a new one.
func TestBackAndSubmitUnchanged(t *testing.T) {
	each(t, []way{plainForm, guardedForm, ownForm, fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		b.do(order, result, back())
		t.Log("out of the back/forward cache:", b.eval("persisted"))
		b.do(order, result)
		if w == fetch {
			s.want(2)
			return
		}
		s.want(1)
		s.wantSent(2, 1)
	})
}

// Case 42.
func TestBackEditAndSubmit(t *testing.T) {
	each(t, []way{guardedForm, ownForm, fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		b.do(order, result, back(), set("#order [name=item]", "coffee"), order, until(`location.pathname == "/orders/2"`))
		s.want(2)
	})
	t.Run("without the client it is a clear answer", func(t *testing.T) {
		s, b := start(t, chrome(t, nil), plainForm)
		b.do(order, result, back(), set("#order [name=item]", "coffee"), order,
			until(`document.querySelector("h1").textContent.includes("has been used")`))
		s.want(1)
	})
}

// Case 43. Without a script the page does not know the key that it had.
func TestReloadInTheMiddleOfARequest(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(order, s.arrived(1), chromedp.Reload(), painted, order, s.arrived(2), then(s.hurry), result)
		if w == plainForm || w == noScript {
			s.want(2)
			return
		}
		s.want(1)
		s.wantSent(2, 1)
	})
}

// Case 43.
func TestAfterSuccessAReloadAndAVisitBringANewKey(t *testing.T) {
	each(t, []way{guardedForm, ownForm}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		first := b.key()
		b.do(order, result, back(), chromedp.Reload(), painted)
		second := b.key()
		b.do(order, result, visit(s.url+"/form?look="+w.look))
		third := b.key()
		if first == second || second == third || first == third {
			t.Errorf("the keys were %s, %s, %s", first, second, third)
		}
		b.do(order, result)
		s.want(3)
	})
}

// Case 44.
func TestARejectedFormGoesThroughWhenCorrected(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		b.do(fill(w, "none"), order)
		if w == fetch {
			b.do(until(`document.querySelector("#say").textContent == "released"`))
		} else {
			b.do(until(`document.querySelector("h1").textContent.includes("What do you want")`), painted)
		}
		b.do(fill(w, "tea"), order, result)
		s.want(1)
	})
}

// fill fills in the item, without a script if there are none.
func fill(w way, item string) step {
	if !w.noScripts {
		return set("#order [name=item]", item)
	}
	return chromedp.Steps(click("#order [name=item]"), chromedp.KeyEvent("\b\b\b\b\b"+item))
}

// Case 45.
func TestF5OnTheResultWritesNothing(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		b.do(order, result, chromedp.Reload(), result)
		s.want(1)
		s.wantSent(1, 1)
	})
}

// Case 43: a page that is opened twice is two intents; a basket is one.
func TestTwoTabs(t *testing.T) {
	each(t, protected, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		other := w.visit(t, browser, s.url)
		b.do(order, result)
		other.do(order, result)
		s.want(2)
	})
	t.Run("of a basket are one order", func(t *testing.T) {
		w := way{look: basket}
		browser := chrome(t, nil)
		s, b := start(t, browser, w)
		other := w.visit(t, browser, s.url)
		b.do(order, result)
		other.do(order, result)
		if one, two := b.eval("location.pathname"), other.eval("location.pathname"); one != two {
			t.Errorf("one ended on %s, the other on %s", one, two)
		}
		s.want(1)
	})
}

func TestADuplicatedTabHasAKeyOfItsOwn(t *testing.T) {
	each(t, []way{guardedForm, ownForm, fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.slow()
		b.do(order, s.arrived(1))
		other := b.open(s.url + "/form?look=" + w.look)
		// A browser may load a duplicated tab as it reloads one.
		other.do(chromedp.Reload(), painted, order, s.arrived(2), then(s.hurry), result)
		b.do(result)
		s.want(2)
		s.wantSent(2, 2)
	})
}

// The browser sends a POST again by itself when a connection that it had used
// before is closed: no script can see that, let alone prevent it.
func TestAConnectionClosedWithoutAnAnswer(t *testing.T) {
	each(t, append([]way{unprotected}, protected...), func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		s.next(loseAnswer)
		b.do(order, result)
		if w == unprotected {
			s.want(2)
			s.wantSent(2, 1)
			return
		}
		s.want(1)
		s.wantSent(2, 1)
		if w == fetch && b.eval("window.retried") != "undefined" {
			t.Error("the script tried again, not the browser")
		}
	})
}

func TestFormAndButtonMeanWhatTheySay(t *testing.T) {
	browser := chrome(t, nil)
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"the button's value arrives":          {[]step{order}, "now"},
		"a button outside of the form counts": {[]step{click("#outside")}, "outside"},
		"requestSubmit with a button":         {[]step{script(`order.requestSubmit(outside)`)}, "outside"},
		"form.submit has the key, too":        {[]step{script(`order.submit()`)}, ""},
		"a hidden id and action do not matter": {[]step{
			script(`order.insertAdjacentHTML("beforeend", '<input type="hidden" name="id"><input type="hidden" name="action"><input type="hidden" name="method">')`), order}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := start(t, browser, ownForm)
			b.do(append(c.steps, result)...)
			s.want(1)
			var got string
			if err := s.db.QueryRowContext(t.Context(), `SELECT go FROM orders`).Scan(&got); err != nil || got != c.want {
				t.Errorf("the button's value is %q, want %q (%v)", got, c.want, err)
			}
			if keys := s.arrivals(); len(keys[0]) != 36 {
				t.Errorf("the key is %q", keys[0])
			}
		})
	}
}

func TestFormsThatAreNotOursAreLeftAlone(t *testing.T) {
	browser := chrome(t, nil)
	for name, change := range map[string]string{
		"GET":                   `order.method = "get"`,
		"another host":          `order.action = "http://localhost:1/orders"`,
		"a button with GET":     `document.querySelector("#order button").formMethod = "get"`,
		"a button to elsewhere": `document.querySelector("#order button").formAction = "http://localhost:1/orders"`,
		"no data-nebis":         `delete order.dataset.nebis`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			b := newTab(t, browser)
			b.do(visit(s.url + "/form?look=naive"))
			// The client comes last, as it would behind a page's own scripts.
			b.do(script(`order.dataset.nebis = ""; ` + change))
			b.do(script(fmt.Sprintf(`(async () => { await import(%q); window.ready = 1 })()`, moduleURL(s))), until("window.ready"))
			got := b.eval(`(() => {
				let data = []
				addEventListener("submit", event => { data = [...new FormData(event.target)].map(([n]) => n); event.preventDefault() })
				const button = document.querySelector("#order button")
				order.requestSubmit(button)
				order.requestSubmit(button)
				return data + " " + order.ariaBusy
			})()`)
			if got != "look,item null" {
				t.Errorf("the form has %s", got)
			}
		})
	}
}

func TestTheGuardComesAndGoes(t *testing.T) {
	browser := chrome(t, nil)
	const busy, idle = `order.ariaBusy == "true"`, `order.ariaBusy == null`
	t.Run("it is on while the request is under way, and the button stays as it is", func(t *testing.T) {
		s, b := start(t, browser, guardedForm)
		s.slow()
		b.do(order, until(busy))
		if b.eval(`document.querySelector("#order button").disabled`) != "false" {
			t.Error("the button is disabled")
		}
		b.do(then(s.hurry), result, back(), until(idle))
	})
	t.Run("it lets go after a time, and the key stays", func(t *testing.T) {
		s, b := start(t, browser, guardedForm)
		s.slow()
		b.do(script(`order.dataset.nebisTimeout = 1`), twice(s.arrived(1), until(idle)), s.arrived(2), then(s.hurry), result)
		s.want(1)
		s.wantSent(2, 1)
	})
	t.Run("a submit that a validation has stopped leaves no trace", func(t *testing.T) {
		s, b := start(t, browser, guardedForm)
		key := b.key()
		b.do(script(`order.addEventListener("submit", event => event.preventDefault(), {once: true})`), order)
		if got := b.eval(`new Promise(go => setTimeout(() => go(order.ariaBusy + " " + order.elements.idempotency_key.value), 1))`); got != "null "+key {
			t.Errorf("after the stop: %s, the key was %s", got, key)
		}
		b.do(order, result)
		s.want(1)
	})
	t.Run("a handler that asks and then submits is heard", func(t *testing.T) {
		s, b := start(t, browser, guardedForm)
		b.do(script(`order.addEventListener("submit", event => { event.preventDefault(); order.requestSubmit() }, {once: true})`), order, result)
		s.want(1)
	})
	t.Run("two copies of the script do not block each other", func(t *testing.T) {
		s, b := start(t, browser, guardedForm)
		b.do(script(fmt.Sprintf(`(async () => { await import(%q); window.ready = 1 })()`, moduleURL(s))), until("window.ready"), order, result)
		s.want(1)
	})
}

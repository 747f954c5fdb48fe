package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/nebishttp"
)

// Case 48.
func TestA409IsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.route = &nebishttp.Route{Wait: -1}
	b := newWindow(t, browser(t))
	s.slow()
	// The first try is slow; the second finds it at work.
	b.do(visit(s.url+"/form?look=app&timeout=50"), order, until("window.retried == 409"), then(s.hurry), result)
	s.want(1)
	s.wantSent(len(s.arrivals()), 1)
}

// Case 48: a person who is told to wait reloads the page.
func TestA409PageLeadsToTheResult(t *testing.T) {
	t.Parallel()
	each(t, forms, func(t *testing.T, w way, s *site, b tab) {
		s.route = &nebishttp.Route{Wait: -1}
		s.slow()
		if w.client() {
			b.do(reloaded(order, s.arrived(1)), order)
		} else {
			b.do(twice(s.arrived(1)))
		}
		b.do(says("Still being processed"), then(s.hurry), s.settled(), chromedp.Reload(), result)
		s.want(1)
	})
}

// Case 48.
func TestOfflineThenOnline(t *testing.T) {
	t.Parallel()
	each(t, protected, func(t *testing.T, w way, s *site, b tab) {
		b.do(offline(true), order)
		if w == fetch {
			b.do(until(`window.retried == "no answer"`))
		} else {
			b.do(until(`location.protocol == "chrome-error:"`))
		}
		s.want(0)
		b.do(offline(false))
		if w != fetch {
			b.do(chromedp.Reload())
		}
		b.do(result)
		s.want(1)
	})
}

// Case 48: nothing has answered, and it was done; not when the browser tried again
// by itself either.
func TestEveryAnswerIsLost(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		s.meet(loseAnswer)
		if w == fetch {
			b.do(order, until(`window.retried == "no answer"`), then(func() { s.meet(nil) }), result)
		} else {
			b.do(order, until(`location.protocol == "chrome-error:"`), then(func() { s.meet(nil) }), chromedp.Reload(), result)
		}
		sent := len(s.arrivals())
		if w == unprotected {
			s.want(sent)
			return
		}
		s.want(1)
		s.wantSent(sent, 1)
	})
}

// Case 48: a person who sees half of an answer reloads the page.
func TestAnAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		s.next(cutAnswer)
		b.do(order)
		if w != fetch {
			b.do(until(`location.pathname == "/orders" || location.protocol == "chrome-error:"`), chromedp.Reload())
		}
		b.do(result)
		sent := len(s.arrivals())
		if w == unprotected {
			s.want(sent)
			return
		}
		s.want(1)
		s.wantSent(sent, 1)
	})
}

// The browser sends a POST again by itself when a connection that it had used
// before is closed: no script can see that, let alone prevent it.
func TestAConnectionClosedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		s.next(loseAnswer)
		b.do(order, result)
		s.want(w.orders())
		s.wantSent(2, 1)
		one, two := s.arrivals()[0], s.arrivals()[1]
		t.Logf("one click, two requests: %v %v", one, two)
		if one.conn == two.conn {
			t.Error("both came on one connection")
		}
		if b.eval("sessionStorage.note") == "retried" {
			t.Error("the script tried again, not the browser")
		}
	})
}

// Case 47.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			b := w.visit(t, browser(t), strings.Replace(s.url, "127.0.0.1", "shop.test", 1))
			if !w.noScripts && b.eval("isSecureContext + typeof crypto.randomUUID") != "falseundefined" {
				t.Fatal("the page is not on plain http")
			}
			sendTwice(w, s, b)
		})
	}
}

// Case 47.
func TestStorageForbidden(t *testing.T) {
	t.Parallel()
	forbidding := ownBrowser(t, map[string]any{"profile": map[string]any{"default_content_setting_values": map[string]any{"cookies": 2}}})
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, b := start(t, forbidding, w)
			if !w.noScripts {
				if got := b.eval(`(() => { try { return typeof sessionStorage } catch (error) { return error.name } })()`); got != "SecurityError" {
					t.Fatalf("the storage is not forbidden: %s", got)
				}
			}
			thrown := b.thrown()
			if !w.noScripts {
				// What a page throws as it is left is not told, so it leaves once before.
				b.do(script(`dispatchEvent(new Event("pagehide"))`))
			}
			sendTwice(w, s, b)
			if found := thrown(); len(found) > 0 {
				t.Errorf("scripts have thrown %s", found)
			}
		})
	}
	// A page that is kept for Back is a memory of its own.
	t.Run("an intent that is open is kept over Back", func(t *testing.T) {
		t.Parallel()
		s, b := start(t, forbidding, fetch)
		b.do(script(prelude))
		s.next(open)
		b.eval(`send("tea")`)
		key := b.eval("act.key")
		b.do(script(`location = "/orders/7"`), result, back())
		if got := b.eval(`persisted + " " + act.key`); got != "true "+key {
			t.Errorf("after Back: %s, the key was %s", got, key)
		}
	})
}

// sendTwice clicks twice.
func sendTwice(w way, s *site, b tab) {
	s.t.Helper()
	s.slow()
	b.do(twice(s.arrived(1)))
	if !w.client() {
		b.do(s.arrived(2))
	}
	b.do(then(s.hurry), result)
	s.want(w.orders())
}

// Case 46.
func TestAnotherOrigin(t *testing.T) {
	t.Parallel()
	api, s := newSite(t), newSite(t)
	b := newWindow(t, browser(t))
	api.next(reply(http.StatusServiceUnavailable, "Retry-After", "1"))
	b.do(visit(s.url+"/form?look=app&api="+api.url), script(`addEventListener("pagehide", () => sessionStorage.note = said)`), order, result)
	if got := b.eval("sessionStorage.note"); got != "created" {
		t.Errorf("the page read %q as the outcome", got)
	}
	api.want(1)
	api.wantSent(2, 1)
	api.mu.Lock()
	defer api.mu.Unlock()
	if api.flights == 0 {
		t.Error("there was no preflight")
	}
}

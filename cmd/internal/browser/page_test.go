//go:build wip

package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/nebishttp"
	"github.com/nebis-dev/nebis/nebisjs"
)

func moduleURL(s *site) string { return s.url + "/nebis/" + nebisjs.Module.Name }

// loseAnswer does the work and closes the connection instead of answering.
func loseAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// Case 48.
func TestA409IsWaitedFor(t *testing.T) {
	s := newSite(t)
	s.route = &nebishttp.Route{Wait: -1}
	b := newTab(t, chrome(t, nil))
	s.slow()
	// The first try is slow; the second finds it at work.
	b.do(visit(s.url+"/form?look=app&timeout=50"), order, until("window.retried == 409"), then(s.hurry), result)
	s.want(1)
	if keys := s.arrivals(); len(keys) < 3 || keys[0] != keys[len(keys)-1] {
		t.Errorf("arrived: %q", keys)
	}
}

// Case 48: a person who is told to wait reloads the page.
func TestA409PageLeadsToTheResult(t *testing.T) {
	s, b := start(t, chrome(t, nil), plainForm)
	s.route = &nebishttp.Route{Wait: -1}
	s.slow()
	b.do(twice(s.arrived(1)), until(`document.querySelector("h1").textContent == "Still being processed"`), then(s.hurry),
		chromedp.Reload(), result)
	s.want(1)
}

// Case 48.
func TestOfflineThenOnline(t *testing.T) {
	each(t, []way{fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		b.do(offline(true), order, until(`window.retried == "no answer"`))
		s.want(0)
		b.do(offline(false), result)
		s.want(1)
	})
}

// Case 48: nothing has answered, and it was done.
func TestEveryAnswerIsLost(t *testing.T) {
	each(t, []way{fetch}, func(t *testing.T, browser context.Context, w way) {
		s, b := start(t, browser, w)
		// Two, because the browser tries once more by itself.
		s.next(loseAnswer)
		s.next(loseAnswer)
		b.do(order, result)
		s.want(1)
		if b.eval("window.retried") == "" {
			t.Error("the script did not try again")
		}
	})
}

// Case 47.
func TestPlainHTTP(t *testing.T) {
	each(t, append([]way{unprotected}, protected...), func(t *testing.T, browser context.Context, w way) {
		s := newSite(t)
		b := w.visit(t, browser, strings.Replace(s.url, "127.0.0.1", "shop.test", 1))
		if !w.noScripts && b.eval("isSecureContext + typeof crypto.randomUUID") != "falseundefined" {
			t.Fatal("the page is not on plain http")
		}
		s.slow()
		b.do(twice(s.arrived(1)))
		if w == unprotected {
			b.do(s.arrived(2), then(s.hurry), result)
			s.want(2)
			return
		}
		b.do(then(s.hurry), result)
		s.want(1)
	})
}

// Case 47.
func TestStorageForbidden(t *testing.T) {
	forbidden := map[string]any{"profile": map[string]any{"default_content_setting_values": map[string]any{"cookies": 2}}}
	browser := chrome(t, forbidden)
	for _, w := range protected {
		t.Run(w.name, func(t *testing.T) {
			s, b := start(t, browser, w)
			if !w.noScripts {
				if got := b.eval(`(() => { try { return typeof sessionStorage } catch (error) { return error.name } })()`); got != "SecurityError" {
					t.Fatalf("the storage is not forbidden: %s", got)
				}
			}
			s.slow()
			b.do(twice(s.arrived(1)), then(s.hurry), result)
			s.want(1)
		})
	}
}

// Case 46.
func TestAnotherOrigin(t *testing.T) {
	api := newSite(t)
	s := newSite(t)
	b := newTab(t, chrome(t, nil))
	api.next(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	b.do(visit(s.url+"/form?look=app&api="+api.url), script(`const save = nebis.outcome; addEventListener("pagehide", () => sessionStorage.said = window.said)`),
		order, result)
	if got := b.eval("sessionStorage.said"); got != "created" {
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

// A browser that does not keep pages, as with no-store it may not.
func TestBackToAPageThatWasNotKept(t *testing.T) {
	browser := chrome(t, nil, chromedp.Flag("disable-features", "BackForwardCache"))
	for _, w := range []way{guardedForm, ownForm} {
		t.Run(w.name, func(t *testing.T) {
			s, b := start(t, browser, w)
			b.do(order, result, back())
			if b.eval("persisted") != "false" {
				t.Fatal("the page was kept")
			}
			b.do(order, result)
			s.want(1)
			s.wantSent(2, 1)
			b.do(back(), chromedp.Reload(), painted, order, result)
			s.want(2)
		})
	}
}

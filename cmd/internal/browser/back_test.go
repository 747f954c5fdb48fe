package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Case 42. A form keeps its key; the script has seen that its order is done, so
// that a click is a new one.
func TestBackAndSubmitUnchanged(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		b.do(order, result, back())
		if !w.noScripts && b.eval("persisted") != "true" {
			t.Error("the page does not come out of the back/forward cache")
		}
		b.do(order, s.arrived(2), result)
		if w == fetch {
			s.want(2)
			s.wantSent(2, 2)
			return
		}
		s.want(w.orders())
		s.wantSent(2, 1)
	})
}

// Case 42: a new order where the client sees that, else a clear question.
func TestBackEditAndSubmit(t *testing.T) {
	t.Parallel()
	each(t, protected, func(t *testing.T, w way, s *site, b tab) {
		b.do(order, result, back(), fill(w, "coffee"), order)
		if !w.client() {
			b.do(says("has been used"))
			s.want(1)
			return
		}
		b.do(until(`location.pathname == "/orders/2"`))
		s.want(2)
	})
}

// The key stands for the basket, whatever is edited.
func TestBackToABasketEditAndSubmit(t *testing.T) {
	t.Parallel()
	s, b := start(t, browser(t), way{look: basket})
	b.do(order, result, back(), set("#order [name=item]", "coffee"), order, says("has been used"))
	s.want(1)
	s.wantSent(2, 1)
}

// A browser that does not keep pages, as with no-store it may not.
func TestBackToAPageThatWasNotKept(t *testing.T) {
	t.Parallel()
	forgetful := ownBrowser(t, nil, chromedp.Flag("disable-features", "BackForwardCache"))
	for _, w := range []way{guardedForm, ownForm} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, b := start(t, forgetful, w)
			b.do(order, result, back())
			if b.eval("persisted") != "false" {
				t.Fatal("the page was kept")
			}
			b.do(order, s.arrived(2), result)
			s.want(1)
			s.wantSent(2, 1)
			b.do(back(), chromedp.Reload(), painted, order, s.arrived(3), result)
			s.want(2)
		})
	}
}

// Case 43. Without a script the page does not know the key that it had.
func TestReloadInTheMiddleOfARequest(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, w way, s *site, b tab) {
		s.slow()
		b.do(reloaded(order, s.arrived(1)), order, s.arrived(2), then(s.hurry), result)
		if !w.client() {
			s.want(2)
			return
		}
		s.want(1)
		s.wantSent(2, 1)
	})
}

// Case 43.
func TestAfterSuccessAReloadAndAVisitBringANewKey(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm}, func(t *testing.T, w way, s *site, b tab) {
		b.do(order, result, back(), chromedp.Reload(), painted)
		b.do(order, s.arrived(2), result, visit(s.url+"/form?look="+w.look))
		b.do(order, s.arrived(3), result)
		s.want(3)
		s.wantSent(3, 3)
	})
}

// Case 45.
func TestF5OnTheResultWritesNothing(t *testing.T) {
	t.Parallel()
	each(t, protected, func(t *testing.T, _ way, s *site, b tab) {
		b.do(order, result, chromedp.Reload(), result)
		s.want(1)
		s.wantSent(1, 1)
	})
}

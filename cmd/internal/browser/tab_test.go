package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Case 43: a page that is opened twice is two intents.
func TestTwoTabsAreTwoOrders(t *testing.T) {
	t.Parallel()
	each(t, protected, func(t *testing.T, w way, s *site, b tab) {
		other := w.visit(t, browser(t), s.url)
		b.do(front, order, result)
		other.do(front, order, result)
		s.want(2)
		s.wantSent(2, 2)
	})
}

func TestTwoTabsOfABasketAreOneOrder(t *testing.T) {
	t.Parallel()
	each(t, []way{
		{name: "form with the client", look: basket},
		{name: "scripts off", look: basket, noScripts: true},
	}, func(t *testing.T, w way, s *site, b tab) {
		other := w.visit(t, browser(t), s.url)
		b.do(front, order, result)
		other.do(front, order, result)
		if one, two := b.eval("location.pathname"), other.eval("location.pathname"); one != two {
			t.Errorf("one ended on %s, the other on %s", one, two)
		}
		s.want(1)
		s.wantSent(2, 1)
	})
}

// A tab that is duplicated, or opened by the page, gets a copy of the session
// storage: here while an order is under way.
func TestADuplicatedTabHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm, fetch}, func(t *testing.T, w way, s *site, b tab) {
		s.slow()
		other := b.opened(s.url, s.when(1, fmt.Sprintf(`open("/form?look=%s")`, w.look)), order)
		other.do(front, painted)
		// A browser may load a duplicated tab as it reloads one.
		other.do(chromedp.Reload(), painted, order, s.arrived(2), then(s.hurry), result)
		b.do(front, result)
		s.want(2)
		s.wantSent(2, 2)
	})
}

// A copy of the storage has no key while the page is looked at: at the first look,
// and when the person comes back from another tab. The copy is read on a page without
// the client, which would take keys away.
func TestNoKeyIsCopiedFromAPageInUse(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm, fetch}, func(t *testing.T, _ way, s *site, b tab) {
		s.slow()
		other := b.opened(s.url+"/orders/7", script(`document.onvisibilitychange = () => document.hidden || setTimeout(() => open("/orders/8"))`),
			s.when(1, `open("/orders/7")`), order)
		third := b.opened(s.url+"/orders/8", front)
		for _, copied := range []tab{other, third} {
			if got := copied.eval(`sessionStorage.nebis`); got != "undefined" {
				t.Errorf("%s has %s", copied.eval("location.pathname"), got)
			}
		}
	})
}

// The same after a reload, which has the key out of the storage.
func TestATabDuplicatedAfterAReloadHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	each(t, []way{guardedForm, ownForm, fetch}, func(_ *testing.T, w way, s *site, b tab) {
		s.slow()
		b.do(reloaded(order, s.arrived(1)))
		other := b.opened(s.url, script(fmt.Sprintf(`void open("/form?look=%s")`, w.look)))
		other.do(front, painted, chromedp.Reload(), painted, order, s.arrived(2))
		b.do(front, order, s.arrived(3), then(s.hurry), result)
		s.want(2)
		s.wantSent(3, 2)
	})
}

package browser

import (
	"context"
	"testing"

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
	forms     = []way{plainForm, guardedForm, ownForm, noScript}
	all       = append([]way{unprotected}, protected...)
)

// client says whether a script of ours watches over it.
func (w way) client() bool { return w == guardedForm || w == ownForm || w == fetch }

// orders is what comes of one intent that is sent twice.
func (w way) orders() int {
	if w == unprotected {
		return 2
	}
	return 1
}

// start opens a site of its own, and its form in a new tab.
func start(t *testing.T, browser context.Context, w way) (*site, tab) {
	t.Helper()
	s := newSite(t)
	return s, w.visit(t, browser, s.url)
}

func (w way) visit(t *testing.T, browser context.Context, base string) tab {
	t.Helper()
	b := newWindow(t, browser)
	if w.noScripts {
		b.do(noScripts)
	}
	b.do(visit(base + "/form?look=" + w.look))
	return b
}

// each runs a test for each way, on a site and in a tab of its own.
func each(t *testing.T, ways []way, test func(t *testing.T, w way, s *site, b tab)) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, b := start(t, browser(t), w)
			test(t, w, s, b)
		})
	}
}

var order = click("#order button")

// twice clicks, takes the steps, and clicks again.
func twice(between ...step) step { return clicks("#order button", between...) }

// fill fills in the item, without a script if there are none.
func fill(w way, item string) step {
	if !w.noScripts {
		return set("#order [name=item]", item)
	}
	return chromedp.Steps(click("#order [name=item]"), chromedp.KeyEvent("\b\b\b\b\b\b"+item))
}

// says waits for a heading.
func says(heading string) step {
	return chromedp.Steps(until(`document.querySelector("h1")?.textContent.includes("`+heading+`")`), painted)
}

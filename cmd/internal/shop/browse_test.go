package shop

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBrowser is what people do, in a real browser.
func TestBrowser(t *testing.T) {
	b := browser(t, "en")
	for _, c := range []struct {
		name string
		test func(tab)
	}{
		{"a double click on the protected form is one order", doubleClickGuarded},
		{"with the client a double click is sent once", doubleClickClient},
		{"a double click without protection is two orders", doubleClickNaive},
		{"Enter twice is one order", enterTwice},
		{"two handlers that submit one form are one order", submitTwice},
		{"Back and submit again shows the first result", backAndSubmit},
		{"Back, edit and submit is a clear answer", backEditAndSubmit},
		{"with the client, Back, edit and submit is a new order", backEditClient},
		{"without scripts a double click is one order", doubleClickNoScripts},
		{"without scripts the client's form is as the other", doubleClickClientNoScripts},
		{"the client's page tells what became of an order", clientOrders},
		{"five clicks on the client's page are one request", clientShares},
		{"the client waits where it is told to, and keeps its key", clientWaits},
		{"the client tries again when answers are lost", clientLoses},
		{"after a reload in mid-request the client has its key still", clientReloads},
		{"another order while one is open is a question", clientAsks},
		{"the client goes on when the network is back", clientOffline},
		{"a refused form can be corrected", correctForm},
		{"an edited form leads to the first result and can be ordered as well", orderAsWell},
		{"two tabs of one basket are one order", twoTabsOfABasket},
		{"the page of orders keeps itself up to date", liveOrders},
		{"three callbacks are one payment, and the page of its life tells of it", payInBrowser},
		{"a paid order is cancelled, and the money goes back", cancelInBrowser},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(visit(t, b)) })
	}
}

func doubleClickGuarded(v tab) {
	v.do(v.doubleClick("#guarded button"), result("Sent twice. Happened once."))
	v.wantOrders(1)
}

func doubleClickClient(v tab) {
	v.do(v.doubleClick("#client button"), result("Ordered."))
	v.wantOrders(1)
	v.wantSent(1)
}

// wantSent is how many requests to the protected form the shop has got.
func (v tab) wantSent(n int) {
	v.t.Helper()
	if got := v.shop.tally.now().Guarded; got != n {
		v.t.Errorf("the shop was sent %d requests, wanted %d", got, n)
	}
}

func backEditClient(v tab) {
	v.do(set("#client-delay", "0"), click("#client button"), result("Ordered."),
		back(), set("#client-qty", "2"), click("#client button"), until(`location.pathname == "/orders/2"`))
	v.wantOrders(2)
}

func doubleClickClientNoScripts(v tab) {
	v.do(noScripts, chromedp.Reload(), painted, v.doubleClick("#client button"), result("Sent twice. Happened once."))
	v.wantOrders(1)
}

func doubleClickNaive(v tab) {
	v.do(v.doubleClick("#naive button"), result("Sent twice. Happened twice."))
	v.wantOrders(2)
}

func enterTwice(v tab) {
	enter := chromedp.KeyEvent("\r")
	v.do(script(`document.querySelector("#guarded-qty").focus()`), v.arrives(enter), enter, result("Sent twice. Happened once."))
	v.wantOrders(1)
}

// The browser itself may make one request of both; the shop makes one order of any.
func submitTwice(v tab) {
	v.do(script(`(form => { form.requestSubmit(); form.submit(); setTimeout(() => form.submit(), 100) })(document.querySelector("#guarded"))`), result(""))
	v.wantOrders(1)
}

func backAndSubmit(v tab) {
	atOnce := set("#guarded-delay", "0")
	v.do(atOnce, click("#guarded button"), result("Ordered."),
		back(), atOnce, click("#guarded button"), result("Sent twice. Happened once."))
	v.wantOrders(1)
	v.do(chromedp.Reload(), result("Sent twice. Happened once."))
	v.wantOrders(1)
}

func backEditAndSubmit(v tab) {
	v.do(set("#guarded-delay", "0"), click("#guarded button"), result("Ordered."),
		back(), set("#guarded-qty", "2"), click("#guarded button"), shown("^/orders$", "has been used"),
		until(`document.querySelector('a.button[href="/goods/tea"]')`))
	v.wantOrders(1)
}

func orderAsWell(v tab) {
	v.do(set("#guarded-delay", "0"), click("#guarded button"), result("Ordered."),
		back(), set("#guarded-qty", "2"), click("#guarded button"), shown("^/orders$", "has been used"),
		until(`document.querySelector('a.button[href="/orders/1"]')`), click(".anew button"), result("Ordered."))
	v.wantOrders(2)
	v.do(open(v.base+"/orders"), until(`document.querySelector(".flash")?.textContent.includes("order 2 is in")`))
}

func twoTabsOfABasket(v tab) {
	other, closeTab := chromedp.NewContext(v.ctx)
	v.t.Cleanup(closeTab)
	w := v
	w.ctx = other
	v.do(open(v.base+"/basket"), click("#more"), until(`!document.querySelector("#order button").disabled`), painted)
	w.do(open(v.base + "/basket"))
	v.do(click("#order button"), result("Ordered."))
	w.do(click("#order button"), result("Sent twice. Happened once."))
	v.wantOrders(1)
}

func doubleClickNoScripts(v tab) {
	v.do(noScripts, chromedp.Reload(), painted, v.doubleClick("#guarded button"), result("Sent twice. Happened once."))
	v.wantOrders(1)
}

func correctForm(v tab) {
	v.do(script(`document.querySelector("#guarded").noValidate = true`), set("#guarded-qty", "0"), click("#guarded button"),
		shown("^/orders$", "Green tea"), until(`document.querySelector("#guarded [role=alert]")`),
		set("#guarded-qty", "3"), click("#guarded button"), result("Ordered."))
	v.wantOrders(1)
	if list := v.list(); list.Orders[0].Qty != 3 {
		v.t.Errorf("ordered %v", list)
	}
}

func liveOrders(v tab) {
	v.do(open(v.base+"/orders"), shown("^/orders$", "No orders yet"))
	v.order("k", `{"item":"tea","qty":1}`)
	v.do(shown("^/orders$", "One order"))
}

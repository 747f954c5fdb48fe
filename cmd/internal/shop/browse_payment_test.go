package shop

import (
	"fmt"

	"github.com/nebis-dev/nebis/outbox"
)

// pays orders tea in the browser and has it paid by three callbacks in a row.
func (v tab) pays(coupon string) till {
	v.t.Helper()
	l := till{v.client, v.shop}
	l.works()
	v.do(set("#guarded-delay", "0"), click("#guarded button"), result("Ordered."),
		click(".actions .button"), shown("^/provider/1$", "Pay, and be told three times."),
		set("#coupon", coupon), click("#pay button"), until(`document.querySelectorAll(".shots .good").length == 3`), painted)
	return l
}

// tells waits until the page of an order's life has a line.
func tells(line string) step {
	return until(fmt.Sprintf(`document.querySelector(".life")?.textContent.includes(%q)`, line))
}

func payInBrowser(v tab) {
	l := v.pays("twice")
	v.do(click(".shots + .actions .button"), shown("^/orders/1/life$", "The life of order 1"),
		tells("A request placed it."), tells("Taken, and acknowledged."), tells("The same callback again."),
		tells("Outside call for the coupon, try 1: failed."), tells("The coupon is there."),
		until(`document.querySelector(".call .facts").textContent.includes("requests: 3, done: 1")`))
	l.pays(l.now(1), 0, "times=1", "signature=wrong")
	v.do(tells("Callback with a wrong signature.")) // without a reload
	l.called(l.now(1), couponAdded, outbox.Done, 3, 1)
	l.happened(l.now(1), paid, couponAdded, couponGiven)
}

func cancelInBrowser(v tab) {
	l := v.pays("works")
	l.called(l.now(1), couponAdded, outbox.Done, 1, 1)
	v.do(open(v.base+"/orders/1"), set("#refund", "lost"), click("#cancel button"), shown("^/orders/1/life$", "The life of order 1"),
		tells("22 points were taken back."), tells("12.00 yuan were sent back."), tells("The coupon was withdrawn."))
	l.called(l.now(1), refundAdded, outbox.Done, 2, 1)
}

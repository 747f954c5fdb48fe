package shop

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/outbox"
)

// TestCancellation takes orders back on every database.
func TestCancellation(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		l := openTill(t, openShop(t, dbURL))
		early := l.by(t)
		o := cancelsBeforeTheCoupon(early)
		l.works()
		early.couponComesTooLate(o)
		for _, c := range []struct {
			name string
			test func(till)
		}{
			{"an order that is not paid", cancelUnpaid},
			{"a paid order gets its money back, sent ten times", cancelPaid},
			{"points in the coupon's place go, too", cancelWithoutCoupon},
			{"money that cannot be sent back becomes points", cancelCredited},
			{"money that comes late goes back", payCancelled},
			{"just when the coupon comes", cancelAsTheCouponComes},
			{"another visitor's order stays", cancelOthers},
			{"an order that was picked up stays", cancelPickedUp},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(l.by(t)) })
		}
	})
}

// cancelsBeforeTheCoupon is an order that is cancelled before any worker has asked for its coupon.
func cancelsBeforeTheCoupon(l till) record {
	l.t.Helper()
	o := l.buys()
	l.pays(o, 3, "coupon=lost")
	l.cancels(o, "works").want(l.t, http.StatusSeeOther, "created")
	l.is(o, refunding, 0)
	return o
}

// couponComesTooLate: the coupon that comes nevertheless is withdrawn.
func (l till) couponComesTooLate(o record) {
	l.t.Helper()
	l.called(o, couponAdded, outbox.Done, 2, 1)
	l.called(o, withdrawAdded, outbox.Done, 1, 1)
	l.called(o, refundAdded, outbox.Done, 1, 1)
	l.is(o, refunded, 0)
}

// sold is how much tea was sold.
func (l till) sold() (n int) {
	l.t.Helper()
	_, _, n = l.shop.books(l.t, "", "tea")
	return n
}

func cancelUnpaid(l till) {
	before := l.sold()
	o := l.buys()
	l.cancels(o, "").want(l.t, http.StatusSeeOther, "created")
	l.is(o, cancelled, 0)
	l.happened(o, cancelled)
	if n := l.sold(); n != before {
		l.t.Errorf("sold: %d, before %d", n, before)
	}
}

func cancelPaid(l till) {
	before := l.sold()
	o := l.buys()
	l.pays(o, 3)
	l.called(o, couponAdded, outbox.Done, 1, 1)
	created := 0
	for _, a := range atOnce(10, func(int) answer { return l.cancels(o, "twice") }) {
		if a.outcome() == "created" {
			created++
		}
	}
	l.called(o, refundAdded, outbox.Done, 3, 1)
	l.called(o, withdrawAdded, outbox.Done, 1, 1)
	l.is(o, refunded, 0)
	if n := l.sold(); n != before || created != 1 {
		l.t.Errorf("cancelled %d times; sold: %d, before %d", created, n, before)
	}
}

func cancelWithoutCoupon(l till) {
	o := l.buys()
	l.pays(o, 3, "coupon=never")
	l.called(o, couponAdded, outbox.Compensated, 1, 0)
	l.cancels(o, "lost").want(l.t, http.StatusSeeOther, "created")
	l.called(o, refundAdded, outbox.Done, 2, 1)
	l.is(o, refunded, 0)
	if j := l.call(o, withdrawAdded); j != nil {
		l.t.Errorf("a coupon was withdrawn that nobody had: %+v", j)
	}
}

func cancelCredited(l till) {
	o := l.buys()
	l.pays(o, 3)
	l.cancels(o, "never").want(l.t, http.StatusSeeOther, "created")
	l.called(o, refundAdded, outbox.Compensated, 1, 0)
	l.is(o, credited, int(o.Cents()/100*pointsPerYuan))
}

func payCancelled(l till) {
	o := l.buys()
	l.cancels(o, "").want(l.t, http.StatusSeeOther, "created")
	l.pays(o, 3)
	l.called(o, refundAdded, outbox.Done, 1, 1)
	l.is(o, refunded, 0)
	l.happened(o, cancelled, paidLate, refundAdded, refunded)
}

// cancelAsTheCouponComes: whichever is first, no cancelled order keeps a coupon.
func cancelAsTheCouponComes(l till) {
	for i := range 20 {
		l := l
		l.cookie += fmt.Sprint(i)
		o := l.buys()
		l.pays(o, 1, "times=1")
		l.cancels(o, "works").want(l.t, http.StatusSeeOther, "created")
		l.called(o, couponAdded, outbox.Done, 1, 1)
		l.called(o, withdrawAdded, outbox.Done, 1, 1)
		l.called(o, refundAdded, outbox.Done, 1, 1)
		l.is(o, refunded, 0)
	}
}

func cancelOthers(l till) {
	o := l.buys()
	other := l
	other.cookie = visitorCookie + "=somebody"
	other.cancels(o, "").want(l.t, http.StatusNotFound, "released")
	l.is(o, accepted, teaPoints)
}

func cancelPickedUp(l till) {
	o := l.buys()
	l.pays(o, 3)
	l.submit(fmt.Sprintf("/orders/%d/pickup", o.ID), nil).want(l.t, http.StatusSeeOther, "")
	l.cancels(o, "works").want(l.t, http.StatusSeeOther, "created")
	l.is(o, pickedUp, teaPoints+teaBonus)
}

package shop

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/outbox"
)

// TestPayment is the story of a payment on every database.
func TestPayment(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		l := openTill(t, openShop(t, dbURL))
		l.works()
		for _, c := range []struct {
			name string
			test func(till)
		}{
			{"three callbacks are one payment", threeCallbacks},
			{"ten callbacks at once are one payment", tenCallbacks},
			{"a forged callback changes nothing", forgedCallback},
			{"a callback comes again when its answer was lost", lostAnswers},
			{"a wrong amount is refused", wrongAmount},
			{"a second payment is for a person", secondPayment},
			{"money for an order that was picked up is for a person", payPickedUp},
			{"a coupon service that fails twice gives one coupon", couponLate},
			{"a coupon whose first answer was lost is one coupon", couponLost},
			{"without a coupon there are points, once", couponNever},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(l.by(t)) })
		}
	})
}

func threeCallbacks(l till) {
	o := l.buys()
	if page := l.get(fmt.Sprintf("/provider/%d", o.ID)).body; strings.Contains(page, "State of the order") || !strings.Contains(page, "<code>go run ./cmd/nebis callback fire ") {
		l.t.Error(page)
	}
	if page := l.pays(o, 3); !strings.Contains(page, "State of the order: paid.") {
		l.t.Error(page)
	}
	l.called(o, couponAdded, outbox.Done, 1, 1)
	l.is(o, paid, teaPoints+teaBonus)
	l.happened(o, paid, couponAdded, couponGiven)
	page := l.get(fmt.Sprintf("/orders/%d", o.ID)).body
	if choice, button := strings.Index(page, `<select id="refund"`), strings.Index(page, "Cancel the order"); choice < 0 || button < choice {
		l.t.Errorf("the choice is at %d, its button at %d: %s", choice, button, page)
	}
}

func tenCallbacks(l till) {
	o := l.buys()
	l.pays(o, 10, "times=10", "order=all")
	l.called(o, couponAdded, outbox.Done, 1, 1)
	l.is(o, paid, teaPoints+teaBonus)
	l.happened(o, paid, couponAdded, couponGiven)
}

func forgedCallback(l till) {
	o := l.buys()
	l.pays(o, 0, "signature=wrong")
	l.is(o, accepted, teaPoints)
	l.happened(o)
}

func lostAnswers(l till) {
	o := l.buys()
	page := l.pays(o, 1, "drop=2")
	if n := strings.Count(page, "The line broke: no answer"); n != 2 {
		l.t.Errorf("%d answers were lost; %s", n, page)
	}
	l.called(o, couponAdded, outbox.Done, 1, 1)
	l.is(o, paid, teaPoints+teaBonus)
}

func wrongAmount(l till) {
	o := l.buys()
	shots := l.sends(callbacktest.Notice{Order: fmt.Sprint(o.ID), Amount: 1})
	if len(shots) != 1 || shots[0].Status != 500 || shots[0].Acknowledged {
		l.t.Errorf("%+v", shots)
	}
	l.is(o, accepted, teaPoints)
	l.happened(o)
}

func secondPayment(l till) {
	o := l.buys()
	l.pays(o, 3)
	shots := l.sends(callbacktest.Notice{Order: fmt.Sprint(o.ID), Amount: o.Cents(), Payment: "second-" + fmt.Sprint(o.ID)})
	if len(shots) != 1 || shots[0].Acknowledged {
		l.t.Errorf("%+v", shots)
	}
	l.is(o, paid, teaPoints+teaBonus)
	failed, err := callback.Failures(l.t.Context(), l.shop.db, l.shop.store, "epay", 1)
	if err != nil || len(failed) != 1 || failed[0].Order != fmt.Sprint(o.ID) || !strings.Contains(failed[0].Error, "nobody waits for the money") {
		l.t.Errorf("%+v, %v", failed, err)
	}
	if page := l.life(o, "en"); !strings.Contains(page, "Callbacks that failed: 1.") {
		l.t.Error(page)
	}
}

func payPickedUp(l till) {
	o := l.buys()
	for range 2 {
		l.submit(fmt.Sprintf("/orders/%d/pickup", o.ID), nil).want(l.t, http.StatusSeeOther, "")
	}
	l.pays(o, 0)
	l.is(o, pickedUp, teaPoints)
	l.happened(o, pickedUp)
	for lang, event := range map[string]string{"en": "<p>Picked up. <", "zh": "<p>已取货。 <"} {
		_, after, found := strings.Cut(l.life(o, lang), event)
		if !found || !strings.Contains(after, fmt.Sprintf("nobody waits for the money of order %d: it is picked up", o.ID)) {
			l.t.Errorf("the story in %s: %s", lang, after)
		}
	}
}

func couponLate(l till) {
	o := l.buys()
	l.pays(o, 3, "coupon=twice")
	l.called(o, couponAdded, outbox.Done, 3, 1)
	l.happened(o, paid, couponAdded, couponGiven)
}

func couponLost(l till) {
	o := l.buys()
	l.pays(o, 3, "coupon=lost")
	l.called(o, couponAdded, outbox.Done, 2, 1)
	l.happened(o, paid, couponAdded, couponGiven)
}

func couponNever(l till) {
	o := l.buys()
	l.pays(o, 3, "coupon=never")
	l.called(o, couponAdded, outbox.Compensated, 1, 0)
	l.is(o, paid, teaPoints+teaBonus+insteadOfCoupon)
	l.happened(o, paid, couponAdded, noCoupon)
}

package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
	"github.com/nebis-dev/nebis/outbox"
)

// A till is a shop and one visitor who pays in it.
type till struct {
	client
	shop *Shop
}

// openTill opens a shop whose calls to the outside are made from works on.
func openTill(t *testing.T, s *Shop) till {
	t.Helper()
	return till{visitor(t, s), s}
}

// works makes the calls to the outside until the test ends.
func (l till) works() {
	l.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(l.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.shop.Work(ctx) }()
	l.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			l.t.Errorf("the worker ended with %v", err)
		}
	})
}

// by is the same till in a test of a part, with a visitor of its own.
func (l till) by(t *testing.T) till {
	l.t = t
	l.cookie = visitorCookie + "=" + strings.ReplaceAll(t.Name(), "/", ".")
	return l
}

// buys orders two pots of tea, which are 24 yuan and 20 points.
func (l till) buys() record {
	l.t.Helper()
	a := l.order(strings.ReplaceAll(l.t.Name(), "/", "."), `{"item":"tea","qty":2}`).want(l.t, http.StatusCreated, "created")
	return l.now(decode[order](l.t, a.body).ID)
}

const teaPoints, teaBonus = 20, 24

// now reads an order anew.
func (l till) now(id int64) record {
	l.t.Helper()
	o, err := l.shop.find(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

// pays sends the form of the provider's page, with changes, and wants so many acknowledged.
func (l till) pays(o record, acknowledged int, changes ...string) string {
	l.t.Helper()
	fields := url.Values{"times": {"3"}, "order": {"one"}, "gap": {"0"}, "drop": {"0"}, "signature": {"good"}, "coupon": {"works"}}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		fields.Set(name, value)
	}
	a := l.submit(fmt.Sprintf("/provider/%d", o.ID), fields).want(l.t, http.StatusOK, "")
	if want := fmt.Sprintf("<b>%d</b> acknowledged", acknowledged); !strings.Contains(a.body, want) {
		l.t.Fatalf("not %s in %s", want, a.body)
	}
	return a.body
}

// sends sends callbacks of the visitor's own making.
func (l till) sends(n callbacktest.Notice) []callbacks.Shot {
	l.t.Helper()
	shots, err := callbacks.Fire(l.t.Context(), l.shop.provider, callbacks.Plan{URL: l.base + "/callbacks/epay", Notice: n, Times: 1, Patience: patience})
	if err != nil {
		l.t.Fatal(err)
	}
	return shots
}

// cancels sends the form of the order's page.
func (l till) cancels(o record, refund string) answer {
	l.t.Helper()
	return l.submit(fmt.Sprintf("/orders/%d/cancel", o.ID), url.Values{"idempotency_key": {fmt.Sprintf("cancel:%d", o.ID)}, "refund": {refund}})
}

// life is the page of an order's life.
func (l till) life(o record, lang string) string {
	l.t.Helper()
	return l.get(fmt.Sprintf("/orders/%d/life?lang=%s", o.ID, lang)).want(l.t, http.StatusOK, "").body
}

// call is the call that an event of the order tells of; nil: there is none.
func (l till) call(o record, kind string) *outbox.Job {
	l.t.Helper()
	events, err := l.shop.events(l.t.Context(), o.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind != kind {
			continue
		}
		j, err := l.shop.calls.Show(l.t.Context(), e.N)
		if err != nil {
			l.t.Fatal(err)
		}
		return j
	}
	return nil
}

// called waits until a call has come to its end, and wants it to be that one, with so
// many requests in the service's books.
func (l till) called(o record, kind string, end outbox.State, requests, done int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), browserPatience)
	defer cancel()
	var j *outbox.Job
	for over := false; !over; over = j != nil && (j.State == outbox.Done || j.State == outbox.Compensated || j.State == outbox.Dead) {
		if ctx.Err() != nil {
			l.t.Fatalf("the call %s of order %d is %+v", kind, o.ID, j)
		}
		time.Sleep(10 * time.Millisecond)
		j = l.call(o, kind)
	}
	if j.State != end {
		l.t.Errorf("the call %s of order %d is %s: %s", kind, o.ID, j.State, j.Error)
	}
	r, d, err := l.shop.booked(l.t.Context(), j.Key)
	if err != nil || r != requests || d != done {
		l.t.Errorf("%s: the service has got %d requests and done %d, %v; want %d and %d", kind, r, d, err, requests, done)
	}
}

// is wants an order to have a status, and the visitor that many points.
func (l till) is(o record, status string, points int) {
	l.t.Helper()
	if got := l.now(o.ID).Status; got != status {
		l.t.Errorf("order %d is %s, want %s", o.ID, got, status)
	}
	if row := fmt.Sprintf(`<td class="n">%d</td><td>%s</td>`, points, say(english, status)); !strings.Contains(l.get(fmt.Sprintf("/orders/%d?lang=en", o.ID)).body, row) {
		l.t.Errorf("the page of order %d has no %s", o.ID, row)
	}
	if row := fmt.Sprintf(`<td class="n wide">%d</td><td>%s</td>`, points, say(english, status)); !strings.Contains(l.get("/orders?lang=en").body, row) {
		l.t.Errorf("the list has no %s", row)
	}
	got, err := l.shop.points(l.t.Context(), visitorOf(l.request("GET", "/", "", "", "")))
	if err != nil || got != points {
		l.t.Errorf("the visitor has %d points, %v; want %d", got, err, points)
	}
}

// happened wants these events of the order, in this order.
func (l till) happened(o record, kinds ...string) {
	l.t.Helper()
	events, err := l.shop.events(l.t.Context(), o.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Kind)
	}
	if fmt.Sprint(got) != fmt.Sprint(kinds) {
		l.t.Errorf("what happened to order %d is %v, want %v", o.ID, got, kinds)
	}
}

package badday

import (
	"errors"
	"net/http"
)

// Event is something that happens on the day. Its name is what is ordered or asked for,
// so that the rows that it wrote are found.
type Event struct {
	Name, Path, Field, Table string
	Same                     string // the column that has the name

	happens func(*visitor, Event) error
}

// Events are what happens, but for what is meant to be there twice.
func Events() []Event { return events[1:] }

// Wanted is what a customer wants twice, and gets twice.
func Wanted() Event { return events[0] }

var events = []Event{
	order("wanted-twice", wanted),
	order("double-click", doubleClick),
	order("lost-answer", lostAnswer),
	order("reload", reload),
	order("back", back),
	order("re-sent", resent),
	order("two-tabs", twoTabs),
	coupon("double-click", doubleClick),
	coupon("two-tabs", twoTabs),
	{"three-callbacks", "/paid", "trade_no", "points", "trade_no", callbacks},
	{"double-click", "/ticket", "question", "tickets", "question", doubleClick},
}

func order(name string, happens func(*visitor, Event) error) Event {
	return Event{name, "/order", "item", "orders", "item", happens}
}

func coupon(name string, happens func(*visitor, Event) error) Event {
	return Event{name, "/coupon", "campaign", "coupons", "campaign", happens}
}

// first makes the visitor known, as one is who has looked around, and opens the form.
func (v *visitor) first(e Event) (page, error) {
	_, err := v.open(e)
	if err != nil {
		return page{}, err
	}
	return v.open(e)
}

// wanted: ordered, and ordered again from a form that was opened afterwards.
func wanted(v *visitor, e Event) error {
	for range 2 {
		p, err := v.first(e)
		if err == nil {
			_, err = v.send(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func doubleClick(v *visitor, e Event) error {
	p, err := v.first(e)
	if err != nil {
		return err
	}
	return v.atOnce(2, p)
}

// lostAnswer: the line breaks when the answer has begun, and the page sends again.
func lostAnswer(v *visitor, e Event) error {
	p, err := v.first(e)
	if err != nil {
		return err
	}
	r, err := v.request(http.MethodPost, p)
	if err != nil {
		return err
	}
	for _, c := range v.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	res, err := http.DefaultTransport.RoundTrip(r) // no redirect is followed: nobody has read it
	if err != nil {
		return err
	}
	res.Body.Close()
	_, err = v.send(p)
	return err
}

// reload: F5 on the page that the form led to sends that page's own request again.
func reload(v *visitor, e Event) error {
	p, err := v.first(e)
	if err != nil {
		return err
	}
	shown, err := v.send(p)
	if err != nil {
		return err
	}
	if shown.Method == http.MethodPost {
		_, err = v.send(p)
		return err
	}
	_, _, err = v.ask(http.MethodGet, page{url: shown.URL.String()})
	return err
}

// back: the browser shows the form as it was left, and it is sent again.
func back(v *visitor, e Event) error {
	p, err := v.first(e)
	if err == nil {
		_, err = v.send(p)
	}
	if err == nil {
		_, err = v.send(p)
	}
	return err
}

// resent: a proxy that heard nothing for a while sends a copy on another connection,
// while the first is still on its way.
func resent(v *visitor, e Event) error { return doubleClick(v, e) }

func twoTabs(v *visitor, e Event) error {
	one, err1 := v.first(e)
	two, err2 := v.open(e)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err1 = v.send(one)
	_, err2 = v.send(two)
	return errors.Join(err1, err2)
}

// callbacks: two at once, and a third later.
func callbacks(v *visitor, e Event) error {
	p := page{v.base + e.Path, e.Field + "=" + e.Name}
	if err := v.atOnce(2, p); err != nil {
		return err
	}
	_, err := v.send(p)
	return err
}

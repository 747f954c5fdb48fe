package shop

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/outbox"
)

// The page of the life of one order: what the tables say of it, and what this process
// has seen besides.

// A moment is one line of the story. Equal ones in a row are one, with a count.
type moment struct {
	From, To   time.Time
	Times      int
	Kind       string // good, bad, or neither
	Kept       bool   // it is in the database
	Text, More string
}

// Clock and Until are its times for people, Stamp for programs.
func (m moment) Clock() string { return m.From.Format(lifeClock) }
func (m moment) Until() string { return m.To.Format(lifeClock) }
func (m moment) Stamp() string { return m.From.UTC().Format(time.RFC3339Nano) }

const lifeClock = "15:04:05.000"

// life is the page.
type life struct {
	Order   record
	Price   string
	Moments []moment
	Calls   []called
}

// called is one call to the outside, as the outbox and the other side have it.
type called struct {
	*outbox.Job
	Kind           string
	Requests, Done int // in the books of the service
}

// Answer is what the other side has said in the end.
func (c called) Answer() string { return string(c.Result) }

func (s *Shop) lifePage(w http.ResponseWriter, r *http.Request) error {
	o, err := s.orderOf(r)
	if err != nil {
		return err
	}
	events, err := s.events(r.Context(), o.ID)
	if err != nil {
		return err
	}
	failures, err := s.failures(r.Context(), o.ID)
	if err != nil {
		return err
	}
	v := s.view(r, say(langOf(r), "life_title", o.ID))
	data := life{Order: o, Price: yuan(v.Lang, o.Cents())}
	if data.Calls, err = s.callsOf(r.Context(), events); err != nil {
		return err
	}
	data.Moments = story(v.Lang, o, events, s.tally.notes(o.ID), failures)
	v.Data = data
	s.render(w, http.StatusOK, "life", v)
	return nil
}

// lookedAt is how many failed callbacks are looked through for those of one order.
const lookedAt = 1000

// failures are the callbacks of an order that have failed.
func (s *Shop) failures(ctx context.Context, id int64) ([]callback.Failure, error) {
	all, err := callback.Failures(ctx, s.db, s.store, s.provider.Provider.Name, lookedAt)
	of := strconv.FormatInt(id, 10)
	return slices.DeleteFunc(all, func(f callback.Failure) bool { return f.Order != of }), err
}

// callsOf reads the calls that the events tell of.
func (s *Shop) callsOf(ctx context.Context, events []event) ([]called, error) {
	var list []called
	for _, e := range events {
		if callOf[e.Kind] == "" {
			continue
		}
		j, err := s.calls.Show(ctx, e.N)
		if err != nil {
			return nil, err
		}
		if j == nil {
			continue // purged
		}
		c := called{Job: j, Kind: kindOf(j.State)}
		if c.Requests, c.Done, err = s.booked(ctx, j.Key); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func kindOf(s outbox.State) string {
	switch s {
	case outbox.Done:
		return "good"
	case outbox.Compensated, outbox.Dead:
		return "bad"
	}
	return ""
}

// story puts everything in the order in which it happened.
func story(lang string, o record, events []event, notes []note, failures []callback.Failure) []moment {
	all := []moment{{From: o.Made, Kept: true, Kind: "good", Text: say(lang, "life_made", o.Qty, say(lang, o.Item), o.Points)}}
	for _, e := range events {
		m := moment{From: e.At, Kept: true, Kind: "good", Text: say(lang, "life_event_"+e.Kind)}
		if strings.Contains(m.Text, "%") {
			n := strconv.FormatInt(e.N, 10)
			if e.Kind == refunded {
				n = yuan(lang, e.N)
			}
			m.Text = say(lang, "life_event_"+e.Kind, n)
		}
		if slices.Contains([]string{noCoupon, credited, paidLate}, e.Kind) {
			m.Kind = "bad"
		}
		all = append(all, m)
	}
	for _, n := range notes {
		all = append(all, seen(lang, o, n))
	}
	for _, f := range failures {
		all = append(all, moment{From: f.Last, Kept: true, Kind: "bad", Text: say(lang, "life_failures", f.Attempts), More: f.Error})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.From.Compare(b.From) })
	return gathered(all)
}

// seen tells of a note.
func seen(lang string, o record, n note) moment {
	m := moment{From: n.At, More: n.Text}
	key := "life_" + n.What + "_" + n.Outcome
	switch n.What {
	case "request", "attempt":
		m.Text = say(lang, key)
		if n.Outcome == "created" {
			m.From = o.Made // it was answered later, perhaps after its own repeat
		}
	case "callback":
		m.Text, m.More = say(lang, key), strings.TrimSpace(strconv.Itoa(n.N)+" "+n.Text)
		if n.Cut {
			m.Text += say(lang, "life_cut")
		}
	default: // the name of a call
		m.Text = say(lang, "life_try_"+n.Outcome, say(lang, "service_"+n.What), n.N)
	}
	switch n.Outcome {
	case "failed", "refused", "busy":
		m.Kind = "bad"
	}
	return m
}

// gathered makes one moment of equal ones in a row.
func gathered(all []moment) []moment {
	var short []moment
	for _, m := range all {
		m.To, m.Times = m.From, 1
		if n := len(short) - 1; n >= 0 && short[n].Text == m.Text && short[n].More == m.More {
			short[n].Times++
			short[n].To = m.From
			continue
		}
		short = append(short, m)
	}
	return short
}

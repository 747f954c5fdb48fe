package shop

import (
	"slices"
	"sync"
	"time"

	"github.com/nebis-dev/nebis/outbox"
)

// tally remembers how often each order was sent, which the orders themselves
// cannot tell: a repeat leaves no trace in the business tables, and should not.
// It is kept in memory, for the pages of the demo only, and starts at zero with
// the process.
type tally struct {
	mu     sync.Mutex
	orders map[int64][]note  // what was seen of this order
	recent []int64           // which to forget first
	failed map[string][]note // attempts without an order yet, by visitor and key
	total  totals
}

// A note is what was seen of an order once.
type note struct {
	At      time.Time
	What    string // request, attempt, callback, or the call that was tried
	Outcome string
	N       int    // status of an answer, number of a try
	Text    string // what was answered, what went wrong
	Cut     bool   // the line broke during the answer
}

// totals are the live counts of the page of orders.
type totals struct {
	Guarded, Created, Replayed int // requests to the protected form, and what they got
	Naive, NaiveOrders         int // requests to the unprotected form, and orders made
}

// Rest and NaiveRest are the requests that were answered with no order.
func (t totals) Rest() int      { return t.Guarded - t.Created - t.Replayed }
func (t totals) NaiveRest() int { return t.Naive - t.NaiveOrders }

const (
	tallyOrders = 1000 // orders remembered
	tallyNotes  = 100  // notes of a kind remembered of each
)

func (t *tally) arrived(guarded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if guarded {
		t.total.Guarded++
	} else {
		t.total.Naive++
	}
}

// answered notes that a request was answered with an order; outcome is the
// Idempotency-Status of the answer, empty where there was no key.
func (t *tally) answered(id int64, guarded bool, outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !guarded:
		t.total.NaiveOrders++
	case outcome == "replayed":
		t.total.Replayed++
	default:
		t.total.Created++
	}
	if outcome != "" {
		t.remember(id, note{What: "request", Outcome: outcome})
	}
}

// note notes what was seen of an order.
func (t *tally) note(id int64, what note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remember(id, what)
}

// tried notes a try of a call to the outside.
func (t *tally) tried(id int64, j *outbox.Job, err error) {
	n := note{What: j.Name, Outcome: "answered", N: j.Attempts}
	if err != nil {
		n.Outcome, n.Text = "failed", err.Error()
	}
	t.note(id, n)
}

func (t *tally) remember(id int64, what note) {
	if t.orders == nil {
		t.orders = map[int64][]note{}
	}
	if _, ok := t.orders[id]; !ok {
		t.recent = append(t.recent, id)
		if len(t.recent) > tallyOrders {
			delete(t.orders, t.recent[0])
			t.recent = t.recent[1:]
		}
	}
	if what.At.IsZero() {
		what.At = time.Now()
	}
	if len(named(t.orders[id], what.What)) < tallyNotes {
		t.orders[id] = append(t.orders[id], what)
	}
}

// named are the notes of one kind.
func named(all []note, what string) []note {
	return slices.DeleteFunc(slices.Clone(all), func(n note) bool { return n.What != what })
}

// attempted notes an attempt that has failed, and so has no order yet.
func (t *tally) attempted(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil || len(t.failed) > tallyOrders {
		t.failed = map[string][]note{}
	}
	if len(t.failed[key]) < tallyNotes {
		t.failed[key] = append(t.failed[key], note{At: time.Now(), What: "attempt", Outcome: "failed"})
	}
}

// succeeded gives the attempts that failed before to the order that came of it.
func (t *tally) succeeded(key string, id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.failed[key] {
		t.remember(id, n)
	}
	delete(t.failed, key)
}

// answers lists what the senders of one order got, the first to run first: it
// often answers after the first duplicate, which the order of arrival hides.
func (t *tally) answers(id int64) []string {
	var list []string
	for _, n := range named(t.notes(id), "request") {
		list = append(list, n.Outcome)
	}
	slices.Sort(list) // "created" before "replayed"
	return list
}

// notes are all that was seen of an order.
func (t *tally) notes(id int64) []note {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.orders[id])
}

func (t *tally) now() totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

package shop

import (
	"slices"
	"sync"
)

// tally remembers how often each order was sent, which the orders themselves
// cannot tell: a repeat leaves no trace in the business tables, and should not.
// It is kept in memory, for the pages of the demo only, and starts at zero with
// the process.
type tally struct {
	mu     sync.Mutex
	orders map[int64][]string // answers given with this order
	recent []int64            // which to forget first
	total  totals
}

// totals are the live counts of the page of orders.
type totals struct {
	Guarded, Created, Replayed int // requests to the protected form, and what they got
	Naive, NaiveOrders         int // requests to the unprotected form, and orders made
}

const (
	tallyOrders  = 1000 // orders remembered
	tallyAnswers = 100  // answers remembered of each
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
		t.remember(id, outcome)
	}
}

func (t *tally) remember(id int64, outcome string) {
	if t.orders == nil {
		t.orders = map[int64][]string{}
	}
	if _, ok := t.orders[id]; !ok {
		t.recent = append(t.recent, id)
		if len(t.recent) > tallyOrders {
			delete(t.orders, t.recent[0])
			t.recent = t.recent[1:]
		}
	}
	if len(t.orders[id]) < tallyAnswers {
		t.orders[id] = append(t.orders[id], outcome)
	}
}

// answers lists what the senders of one order got, the first to run first: it
// often answers after the first duplicate, which the order of arrival hides.
func (t *tally) answers(id int64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.orders[id])
	slices.Sort(list) // "created" before "replayed"
	return list
}

func (t *tally) now() totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

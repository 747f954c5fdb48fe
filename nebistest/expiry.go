package nebistest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/nebis-dev/nebis"
)

// Expiry, a second look, and clean-up.

var _ = register(
	testCase{"Do/an expired key is a new operation, exactly one of 50 senders", 0, testExpired},
	testCase{"Do/an expired key whose new run fails is tried by the next", 0, testExpiredRunFails},
	testCase{"Do/a key freed by a person may be used at once", 0, testFreed},
	testCase{"Do/Recheck may let it run again", 0, testRecheck},
	testCase{"Do/Recheck by many at once runs it again once", 0, testRecheckMany},
	testCase{"Do/rows in processing do not expire", 0, testProcessingStays},
	testCase{"Purge/removes what has expired, in bounded batches", 0, testPurge},
)

func testExpired(w *world) {
	for round := 1; round <= 3; round++ {
		var mu sync.Mutex
		answers := map[Order]int{}
		w.together(50, func(_, store int) {
			o, _, err := insist(func() (Order, bool, error) { return w.do(store, w.op("k")) })
			w.check(err)
			mu.Lock()
			defer mu.Unlock()
			answers[o]++
		})
		if len(answers) != 1 {
			w.Errorf("round %d: answers %v, want one", round, answers)
		}
		w.wantOrders(round)
		w.expire()
	}
}

func testExpiredRunFails(w *world) {
	op := w.op("k")
	op.Fingerprint = "f:old"
	_, _, err := w.do(0, op)
	w.must(err)
	w.expire()
	op.Fingerprint = "f:new"
	_, _, err = nebis.Do(w.Context(), w.stores[0], op, func(context.Context, *sql.Tx) (Order, error) { return Order{}, errFirst })
	if err != errFirst {
		w.Error(err)
	}
	second, replayed, err := w.do(1, op)
	if err != nil || replayed {
		w.Errorf("replayed %v, error %v", replayed, err)
	}
	w.wantReplay(op, second)
	w.wantOrders(2)
}

func testFreed(w *world) {
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, owner, token, status) VALUES ('k', 'order', 'user-1', 't', 'failed')")
	first, replayed, err := w.do(0, w.op("k"))
	if err != nil || replayed {
		w.Fatalf("replayed %v, error %v", replayed, err)
	}
	w.wantReplay(w.op("k"), first)
}

func testRecheck(w *world) {
	first, _, err := w.do(0, w.op("k"))
	w.must(err)
	op := w.op("k")
	still := true
	op.Recheck = func(ctx context.Context, tx *sql.Tx, response []byte) (bool, error) {
		if !strings.Contains(string(response), "tea") {
			w.Errorf("rechecking %s", response)
		}
		return still, nil
	}
	w.wantReplay(op, first)
	w.wantOrders(1)
	still = false
	second, replayed, err := w.do(1, op)
	if err != nil || replayed || second == first {
		w.Errorf("got %v, replayed %v, error %v; want a second run", second, replayed, err)
	}
	w.wantReplay(w.op("k"), second)
	w.wantOrders(2)
}

func testRecheckMany(w *world) {
	_, _, err := w.do(0, w.op("k"))
	w.must(err)
	for _, still := range []bool{true, false} {
		var mu sync.Mutex
		answers := map[Order]int{}
		w.together(20, func(_, store int) {
			op := w.op("k")
			op.Recheck = func(_ context.Context, _ *sql.Tx, response []byte) (bool, error) {
				return still || !strings.Contains(string(response), "tea"), nil
			}
			o, _, err := insist(func() (Order, bool, error) {
				return nebis.Do(w.Context(), w.stores[store], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
					return w.place(ctx, tx, "coffee")
				})
			})
			w.check(err)
			mu.Lock()
			defer mu.Unlock()
			answers[o]++
		})
		if len(answers) != 1 {
			w.Errorf("answers %v, want one", answers)
		}
	}
	w.wantOrders(2)
}

func testProcessingStays(w *world) {
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, owner, token, status, expires_at) VALUES ('k', 'order', 'user-1', 't', 'processing', '2001-01-01 00:00:00')")
	w.wantUnknown(w.op("k"))
	n, err := w.stores[0].Purge(w.Context(), 100)
	if n != 0 || err != nil {
		w.Errorf("purged %d, error %v", n, err)
	}
	w.wantOrders(0)
}

func testPurge(w *world) {
	for i := range 25 {
		_, _, err := w.do(0, w.op(fmt.Sprint("old", i)))
		w.must(err)
	}
	w.expire()
	fresh, _, err := w.do(0, w.op("fresh"))
	w.must(err)
	var batches []int
	for {
		n, err := w.stores[1].Purge(w.Context(), 10)
		w.must(err)
		if batches = append(batches, n); n == 0 {
			break
		}
	}
	if fmt.Sprint(batches) != "[10 10 5 0]" {
		w.Errorf("batches %v", batches)
	}
	w.wantReplay(w.op("fresh"), fresh)
	if n := w.count(w.keys); n != 1 {
		w.Errorf("%d rows left, want the fresh one", n)
	}
}

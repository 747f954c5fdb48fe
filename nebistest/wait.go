package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nebis-dev/nebis"
)

// Waiting, expiry and clean-up.

var _ = register(
	testCase{"Do/waits for the first in another process and replays", 0, testWaits},
	testCase{"Do/says in progress when the wait is used up", 0, testInProgress},
	testCase{"Do/a thousand waiters a key, and no more", 0, testTooManyWaiters},
	testCase{"Do/a duplicate's loss does not lock its neighbours", 0, testNeighbours},
	testCase{"Do/an expired key is a new operation, exactly one of 50 senders", 0, testExpired},
	testCase{"Do/an expired key whose new run fails is tried by the next", 0, testExpiredRunFails},
	testCase{"Do/a key freed by a person may be used at once", 0, testFreed},
	testCase{"Do/Recheck may let it run again", 0, testRecheck},
	testCase{"Do/Recheck by many at once runs it again once", 0, testRecheckMany},
	testCase{"Do/rows in processing do not expire", 0, testProcessingStays},
	testCase{"Do/observes how each call ended", 0, testObserve},
	testCase{"Purge/removes what has expired, in bounded batches", 0, testPurge},
)

// hold runs an order through the first store that ends when finish is closed.
func (w *world) hold(wg *sync.WaitGroup, op nebis.Op, result error) (finish chan struct{}) {
	started, finish := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		_, _, err := nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
			o, err := w.place(ctx, tx, "tea")
			close(started)
			<-finish
			return o, errors.Join(err, result)
		})
		if !errors.Is(err, result) {
			w.Error(err)
		}
	})
	<-started
	return finish
}

func testWaits(w *world) {
	for i, result := range []error{nil, errFirst} {
		var wg sync.WaitGroup
		op := w.op(fmt.Sprint("k", i))
		finish := w.hold(&wg, op, result)
		for store := range w.stores {
			wg.Go(func() {
				_, replayed, err := insist(func() (Order, bool, error) { return w.do(store, op) })
				if err != nil || result == nil && !replayed {
					w.Errorf("store %d: replayed %v, error %v", store, replayed, err)
				}
			})
		}
		close(finish)
		wg.Wait()
		w.wantOrders(i + 1)
	}
}

func testInProgress(w *world) {
	want := nebis.ErrInProgress
	var wg sync.WaitGroup
	finish := w.hold(&wg, w.op("k"), nil)
	for store := range w.stores {
		if store == 1 && w.d == nebis.SQLite {
			want = nebis.ErrBusy // its one writer is taken, which says nothing about the key
		}
		op := w.op("k")
		op.Wait = -1
		if _, _, err := w.do(store, op); !errors.Is(err, want) {
			w.Errorf("store %d: error %v, want %v", store, err, want)
		}
	}
	close(finish)
	wg.Wait()
	w.wantOrders(1)
}

func testTooManyWaiters(w *world) {
	w.use(nebis.Options{MaxWaiters: 3})
	var wg sync.WaitGroup
	finish := w.hold(&wg, w.op("k"), nil)
	results := make(chan error, 10)
	for range cap(results) {
		wg.Go(func() {
			_, _, err := w.do(0, w.op("k"))
			results <- err
		})
	}
	refused := 0
	for range cap(results) - 3 { // these come back before the first ends
		if err := <-results; errors.Is(err, nebis.ErrInProgress) {
			refused++
		}
	}
	close(finish)
	wg.Wait()
	close(results)
	for err := range results {
		w.check(err)
	}
	if refused != cap(results)-3 {
		w.Errorf("%d refused", refused)
	}
}

// A duplicate that finds its answer must not hold a lock on keys beside its own
// while it is being answered.
func testNeighbours(w *world) {
	if w.d == nebis.SQLite {
		w.Skip("one writer: nothing runs beside another")
	}
	for _, k := range []string{"a", "c"} {
		_, _, err := w.do(0, w.op(k))
		w.must(err)
	}
	op := w.op("c")
	op.Recheck = func(ctx context.Context, tx *sql.Tx, _ []byte) (bool, error) {
		_, replayed, err := w.do(1, w.op("b"))
		if err != nil || replayed {
			w.Errorf("the neighbour: replayed %v, error %v", replayed, err)
		}
		return true, nil
	}
	_, replayed, err := w.do(0, op)
	if err != nil || !replayed {
		w.Errorf("replayed %v, error %v", replayed, err)
	}
	w.wantOrders(3)
}

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

func testObserve(w *world) {
	var mu sync.Mutex
	var got []nebis.Outcome
	w.use(nebis.Options{Observe: func(_ context.Context, ev nebis.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, ev.Outcome)
		if ev.Scope != "order" || ev.Waited <= 0 {
			w.Errorf("event %+v", ev)
		}
	}})
	op := w.op("k")
	op.Fingerprint = "f:1"
	w.doSQL("failing", "no SQL")
	w.do(0, op)
	w.do(1, op)
	op.Fingerprint = "f:2"
	w.do(0, op)
	w.expire()
	w.do(0, op)
	w.do(0, w.op("malformed key"))
	want := []nebis.Outcome{nebis.Released, nebis.Ran, nebis.ReplayedTable, nebis.Mismatch, nebis.TookOver, nebis.Failed}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("outcomes %v, want %v", got, want)
	}
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

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

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

// Waiting, and what is observed.

var _ = register(
	testCase{"Do/waits for the first in another process and replays", 0, testWaits},
	testCase{"Do/says in progress when the wait is used up", 0, testInProgress},
	testCase{"Do/a thousand waiters a key, and no more", 0, testTooManyWaiters},
	testCase{"Do/a duplicate that waits does not keep its neighbours waiting", 0, testWaitingBesideNeighbours},
	testCase{"Do/a duplicate's loss does not lock its neighbours", 0, testNeighbours},
	testCase{"Do/observes how each call ended", 0, testObserve},
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

// While a duplicate waits in the database for another process, new keys that sort
// before and after its own are claimed.
func testWaitingBesideNeighbours(w *world) {
	if w.d == nebis.SQLite {
		w.Skip("one writer: nothing runs beside another")
	}
	var wg sync.WaitGroup
	finish := w.hold(&wg, w.op("m"), nil)
	waiting := make(chan struct{})
	slow := w.op("m")
	wg.Go(func() {
		close(waiting)
		_, _, err := insist(func() (Order, bool, error) { return w.do(1, slow) })
		w.check(err)
	})
	<-waiting
	for i := range 20 {
		for _, key := range []string{fmt.Sprint("l", i), fmt.Sprint("n", i)} {
			op := w.op(key)
			if w.d != nebis.MySQL || w.mariadb() {
				op.Wait = -1 // nobody holds it
			} // MySQL proper has no first claim that does not wait: its neighbours wait for that one
			if _, _, err := w.do(i%2, op); err != nil {
				w.Errorf("%s: %v", key, err)
			}
		}
	}
	close(finish)
	wg.Wait()
	w.wantOrders(41)
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

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

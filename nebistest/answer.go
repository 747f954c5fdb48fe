package nebistest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nebis-dev/nebis"
)

// What is answered to a duplicate.

var _ = register(
	testCase{"Do/refuses another fingerprint", 0, testMismatch},
	testCase{"Do/a lone waiter with another fingerprint is refused", 0, testLoneWaiterMismatch},
	testCase{"Do/replays false, 0, null and empty as they were", 0, testFalsy},
	testCase{"Do/a large answer is not kept and not run again", 0, testLarge},
	testCase{"Do/stores text that people can read", 0, testReadable},
)

func testMismatch(w *world) {
	op := w.op("k")
	op.Fingerprint = nebis.Digest(map[string]int{"amount": 1})
	first, _, err := w.do(0, op)
	w.must(err)
	other := op
	other.Fingerprint = nebis.Digest(map[string]int{"amount": 999})
	for i := range w.stores {
		if _, _, err := w.do(i, other); !errors.Is(err, nebis.ErrMismatch) {
			w.Errorf("store %d: error %v, want ErrMismatch", i, err)
		}
	}
	other.Fingerprint = "rule-of-next-year:123"
	w.wantReplay(other, first)
	w.wantReplay(op, first)
}

func testLoneWaiterMismatch(w *world) {
	for store := range w.stores { // in memory, then in the database
		op := w.op(fmt.Sprint("k", store))
		op.Fingerprint = "f:1"
		other := op
		other.Fingerprint = "f:2"
		started, finish := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
				close(started)
				<-finish
				return w.place(ctx, tx, "tea")
			})
			w.check(err)
		})
		<-started
		wg.Go(func() {
			_, _, err := insist(func() (Order, bool, error) { return w.do(store, other) })
			if !errors.Is(err, nebis.ErrMismatch) {
				w.Errorf("store %d: error %v, want ErrMismatch", store, err)
			}
		})
		close(finish)
		wg.Wait()
	}
	w.wantOrders(2)
}

func testFalsy(w *world) {
	for i, v := range []any{false, 0.0, nil, "", []any{}, map[string]any{}} {
		runs := 0
		for store := range w.stores {
			got, replayed, err := nebis.Do(w.Context(), w.stores[store], w.op(fmt.Sprint("k", i)), func(context.Context, *sql.Tx) (any, error) {
				runs++
				return v, nil
			})
			if err != nil || replayed != (store == 1) || fmt.Sprint(got) != fmt.Sprint(v) {
				w.Errorf("%v: got %v, replayed %v, error %v", v, got, replayed, err)
			}
		}
		if runs != 1 {
			w.Errorf("%v: %d runs", v, runs)
		}
	}
}

func testLarge(w *world) {
	large := strings.Repeat("x", 1<<20)
	for store, want := range []error{nil, nebis.ErrNotKept} {
		got, _, err := nebis.Do(w.Context(), w.stores[store], w.op("k"), func(ctx context.Context, tx *sql.Tx) (string, error) {
			_, err := w.place(ctx, tx, "tea")
			return large, err
		})
		if !errors.Is(err, want) || want == nil && got != large {
			w.Errorf("store %d: %d bytes, error %v; want error %v", store, len(got), err, want)
		}
	}
	w.wantOrders(1)
}

func testReadable(w *world) {
	type answer struct{ Text string }
	text := "<b>下单成功</b> & «ok» \u2028\x00 emoji 🍵"
	for store := range w.stores {
		got, _, err := nebis.Do(w.Context(), w.stores[store], w.op("k"), func(context.Context, *sql.Tx) (answer, error) {
			return answer{text}, nil
		})
		if err != nil || got.Text != text {
			w.Errorf("got %q, error %v", got, err)
		}
	}
	var stored string
	w.must(w.dbs[0].QueryRow("SELECT response FROM " + w.keys).Scan(&stored))
	if !strings.Contains(stored, "<b>下单成功</b> & «ok»") || !json.Valid([]byte(stored)) {
		w.Errorf("stored %s", stored)
	}
}

package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"Batch/sent again runs what failed, and in another order is the same", 0, testBatchAgain},
	testCase{"Batch/two processes at once run each row once", 0, testBatchTwice},
	testCase{"Batch/a row that changed is refused alone", 0, testBatchChanged},
	testCase{"Batch/keeps keys of rows and batches apart", 0, testBatchKeysApart},
	testCase{"Batch/stops between rows when the context ends", 0, testBatchCancel},
	testCase{"Batch/a row that panics leaves those before it", 0, testBatchPanic},
	testCase{"Batch/a malformed batch runs nothing", 0, testBatchMalformed},
)

type (
	batchRow    = nebis.Row[string]
	batchResult = nebis.RowResult[Order]
)

func batchOf(n int) []batchRow {
	rows := make([]batchRow, n)
	for i := range rows {
		rows[i] = batchRow{Key: fmt.Sprint(i + 1), In: fmt.Sprint("item-", i+1)}
	}
	return rows
}

// batch places one order for each row, but for items in fail.
func (w *world) batch(store int, key string, rows []batchRow, fail ...string) []batchResult {
	w.Helper()
	results, err := nebis.Batch(w.Context(), w.stores[store], w.op(key), rows, func(ctx context.Context, tx *sql.Tx, item string) (Order, error) {
		o, err := w.place(ctx, tx, item)
		if slices.Contains(fail, item) {
			err = errFirst
		}
		return o, err
	})
	w.must(err)
	return results
}

func (w *world) wantRows(results []batchResult, want map[nebis.RowStatus]int) {
	w.Helper()
	got := map[nebis.RowStatus]int{}
	for _, r := range results {
		got[r.Status]++
		if done := r.Status == nebis.RowCreated || r.Status == nebis.RowReplayed; done != (r.Err == nil) || done != (r.Out != Order{}) {
			w.Errorf("%s is %s with %v, %v", r.Key, r.Status, r.Out, r.Err)
		}
	}
	for status, n := range want {
		if got[status] != n {
			w.Errorf("got %v, want %v", got, want)
		}
	}
}

// Case: of 50 rows two fail; sent again, 48 are replayed and 2 run.
func testBatchAgain(w *world) {
	rows := batchOf(50)
	first := w.batch(0, "k", rows, "item-7", "item-20")
	w.wantRows(first, map[nebis.RowStatus]int{nebis.RowCreated: 48, nebis.RowFailed: 2})
	for _, i := range []int{6, 19} {
		if first[i].Err != errFirst {
			w.Errorf("row %s ended with %v", first[i].Key, first[i].Err)
		}
	}
	w.wantOrders(48)
	second := w.batch(1, "k", rows)
	w.wantRows(second, map[nebis.RowStatus]int{nebis.RowReplayed: 48, nebis.RowCreated: 2})
	w.wantOrders(50)

	slices.Reverse(rows)
	third := w.batch(0, "k", rows)
	w.wantRows(third, map[nebis.RowStatus]int{nebis.RowReplayed: 50})
	w.wantOrders(50)
	for i, row := range rows {
		was := second[len(second)-1-i]
		if r := third[i]; r.Key != row.Key || r.Key != was.Key || r.Out != was.Out || r.Out.Item != row.In {
			w.Errorf("row %s got %v, before it was %v", row.Key, r, was)
		}
	}
	for i, r := range w.batch(1, "k", rows[5:8]) { // a part of it
		if r.Status != nebis.RowReplayed || r.Out != third[5+i].Out {
			w.Errorf("row %s got %v", r.Key, r)
		}
	}
}

func testBatchTwice(w *world) {
	rows := batchOf(20)
	t := tally{made: map[string]int{}, orders: map[string]Order{}}
	w.together(4, func(n, store int) {
		mine := slices.Clone(rows)
		if n%2 == 1 {
			slices.Reverse(mine)
		}
		for range 100 { // what a client under load may meet is sent again
			if t.count(w, w.batch(store, "k", mine)) {
				return
			}
		}
		w.Error("it never ended")
	})
	for _, row := range rows {
		if t.made[row.Key] != 1 {
			w.Errorf("row %s was made %d times", row.Key, t.made[row.Key])
		}
	}
	w.wantOrders(20)
}

// A tally is what all senders of one batch were told.
type tally struct {
	sync.Mutex
	made   map[string]int
	orders map[string]Order
}

// count reports whether every row is done.
func (t *tally) count(w *world, results []batchResult) (done bool) {
	t.Lock()
	defer t.Unlock()
	done = true
	for _, r := range results {
		if r.Err != nil {
			done = false
			continue
		}
		if r.Status == nebis.RowCreated {
			t.made[r.Key]++
		}
		if first, known := t.orders[r.Key]; known && first != r.Out {
			w.Errorf("row %s is %v, and was %v", r.Key, r.Out, first)
		}
		t.orders[r.Key] = r.Out
	}
	return done
}

func testBatchChanged(w *world) {
	rows := batchOf(3)
	w.batch(0, "k", rows)
	rows[1].In = "something else"
	results := w.batch(0, "k", rows)
	w.wantRows(results, map[nebis.RowStatus]int{nebis.RowReplayed: 2, nebis.RowFailed: 1})
	if !errors.Is(results[1].Err, nebis.ErrMismatch) {
		w.Errorf("the changed row ended with %v", results[1].Err)
	}
	rows[1].Fingerprint = nebis.Digest("item-2") // the caller's own rule
	w.wantRows(w.batch(0, "k", rows), map[nebis.RowStatus]int{nebis.RowReplayed: 3})
	w.wantOrders(3)
}

func testBatchKeysApart(w *world) {
	long := strings.Repeat("茶", 200)
	texts := []string{"b:c", "c", "a", "A", "a ", "a+", "a%20", " ", "茶", long, long + "x", ":", "=", "\x00", "\xff", "'", strings.Repeat("y", 300)}
	rows := make([]batchRow, len(texts))
	for i, text := range texts {
		rows[i] = batchRow{Key: text, In: fmt.Sprint("item-", i)}
	}
	most := strings.Repeat("k", 189)
	n := 0
	for _, batch := range []string{"a", "a:b", "A", "a:", most} {
		w.wantRows(w.batch(0, batch, rows), map[nebis.RowStatus]int{nebis.RowCreated: len(rows)})
		n += len(rows)
	}
	w.wantOrders(n)
	for _, batch := range []string{"a:b", most} {
		w.wantRows(w.batch(1, batch, rows), map[nebis.RowStatus]int{nebis.RowReplayed: len(rows)})
	}
	// A row is an operation like any other.
	if _, replayed, err := w.do(0, w.op("a:c")); !replayed && !errors.Is(err, nebis.ErrMismatch) {
		w.Errorf("its key is not KEY:row: %v, %v", replayed, err)
	}
}

func testBatchCancel(w *world) {
	ctx, cancel := context.WithCancelCause(w.Context())
	results, err := nebis.Batch(ctx, w.stores[0], w.op("k"), batchOf(5), func(ctx context.Context, tx *sql.Tx, item string) (Order, error) {
		o, err := w.place(ctx, tx, item)
		if item == "item-3" {
			cancel(errFirst)
		}
		return o, err
	})
	w.must(err)
	w.wantRows(results, map[nebis.RowStatus]int{nebis.RowCreated: 2, nebis.RowFailed: 1, nebis.RowNotRun: 2})
	for i, r := range results {
		if i >= 2 && !errors.Is(r.Err, errFirst) || r.Key != fmt.Sprint(i+1) {
			w.Errorf("%v", r)
		}
	}
	w.wantOrders(2)
	w.wantRows(w.batch(0, "k", batchOf(5)), map[nebis.RowStatus]int{nebis.RowReplayed: 2, nebis.RowCreated: 3})
}

func testBatchPanic(w *world) {
	func() {
		defer func() {
			if recover() == nil {
				w.Error("the panic was swallowed")
			}
		}()
		nebis.Batch(w.Context(), w.stores[0], w.op("k"), batchOf(3), func(ctx context.Context, tx *sql.Tx, item string) (Order, error) {
			o, err := w.place(ctx, tx, item)
			if item == "item-2" {
				panic("on purpose")
			}
			return o, err
		})
	}()
	w.wantOrders(1)
	w.wantRows(w.batch(0, "k", batchOf(3)), map[nebis.RowStatus]int{nebis.RowReplayed: 1, nebis.RowCreated: 2})
}

func testBatchMalformed(w *world) {
	w.use(nebis.Options{MaxRows: 3})
	twice := append(batchOf(2), batchRow{Key: "1"})
	marked := w.op("k")
	marked.Fingerprint = "f:1"
	for name, c := range map[string]struct {
		op   nebis.Op
		rows []batchRow
		want error
	}{
		"two rows with one key":          {w.op("k"), twice, nebis.ErrKey},
		"a row without a key":            {w.op("k"), []batchRow{{Key: "1"}, {}}, nebis.ErrKey},
		"too many rows":                  {w.op("k"), batchOf(4), nebis.ErrTooManyRows},
		"no key":                         {w.op(""), batchOf(1), nebis.ErrKey},
		"no key and no rows":             {w.op(""), nil, nebis.ErrKey},
		"a long key":                     {w.op(strings.Repeat("k", 190)), batchOf(1), nebis.ErrKey},
		"a fingerprint of the whole":     {marked, batchOf(1), nebis.ErrKey},
		"a fingerprint that is too long": {w.op("k"), []batchRow{{Key: "1"}, {Key: "2", Fingerprint: strings.Repeat("f", 129)}}, nebis.ErrKey},
	} {
		results, err := nebis.Batch(w.Context(), w.stores[0], c.op, c.rows, func(context.Context, *sql.Tx, string) (Order, error) {
			w.Errorf("%s: a row ran", name)
			return Order{}, nil
		})
		if !errors.Is(err, c.want) || results != nil {
			w.Errorf("%s: %v, %v", name, results, err)
		}
	}
	w.wantRows(w.batch(0, "k", batchOf(3)), map[nebis.RowStatus]int{nebis.RowCreated: 3})
	w.wantRows(w.batch(0, "k", nil), map[nebis.RowStatus]int{nebis.RowCreated: 0})
}

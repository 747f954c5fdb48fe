package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"DoTx/runs once and replays, the transaction goes on", 0, testTxOnce},
	testCase{"DoTx/counts only when the caller commits", 0, testTxRolledBack},
	testCase{"DoTx/a function that fails leaves the caller's work alone", 0, testTxFunctionFails},
	testCase{"DoTx/a panic leaves the caller's work alone", 0, testTxPanic},
	testCase{"DoTx/refuses another fingerprint and goes on", 0, testTxMismatch},
	testCase{"DoTx/takes over an expired key, one of many", 0, testTxExpired},
	testCase{"DoTx/says in progress and goes on", 0, testTxInProgress},
	testCase{"DoTx/notices a transaction ended by the function", 0, testTxEnded},
	testCase{"DoTx/many at once, one execution", 0, testTxMany},
)

// inTx runs f in a transaction of the i-th pool and commits it.
func (w *world) inTx(i int, f func(tx *sql.Tx) error) error {
	tx, err := w.dbs[i].BeginTx(w.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (w *world) doTx(i int, tx *sql.Tx, op nebis.Op, result error) (Order, bool, error) {
	return nebis.DoTx(w.Context(), w.stores[i], tx, op, func(ctx context.Context) (Order, error) {
		o, err := w.place(ctx, tx, "tea")
		return o, errors.Join(err, result)
	})
}

func (w *world) note(tx *sql.Tx) {
	w.Helper()
	_, err := w.place(w.Context(), tx, "own work of the caller")
	w.must(err)
}

func testTxOnce(w *world) {
	var first Order
	for i, wantReplay := range []bool{false, true} {
		w.must(w.inTx(i, func(tx *sql.Tx) error {
			w.note(tx)
			o, replayed, err := w.doTx(i, tx, w.op("k"), nil)
			w.must(err)
			if replayed != wantReplay || replayed && o != first {
				w.Errorf("got %v, replayed %v", o, replayed)
			}
			first = o
			w.note(tx)
			return nil
		}))
	}
	w.wantOrders(5)
	w.wantReplay(w.op("k"), first)
}

func testTxRolledBack(w *world) {
	err := w.inTx(0, func(tx *sql.Tx) error {
		_, _, err := w.doTx(0, tx, w.op("k"), nil)
		w.must(err)
		return errFirst
	})
	if err != errFirst {
		w.Error(err)
	}
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

func testTxFunctionFails(w *world) {
	w.must(w.inTx(0, func(tx *sql.Tx) error {
		w.note(tx)
		if _, _, err := w.doTx(0, tx, w.op("k"), errFirst); !errors.Is(err, errFirst) || errors.Is(err, nebis.ErrTxGone) {
			w.Errorf("error %v, want the function's own", err)
		}
		w.note(tx)
		return nil
	}))
	w.wantOrders(2)
	w.wantFree(w.op("k"))
}

func testTxPanic(w *world) {
	w.must(w.inTx(0, func(tx *sql.Tx) error {
		w.note(tx)
		func() {
			defer func() { recover() }()
			nebis.DoTx(w.Context(), w.stores[0], tx, w.op("k"), func(ctx context.Context) (Order, error) {
				_, err := w.place(ctx, tx, "tea")
				w.must(err)
				panic("oh")
			})
		}()
		w.note(tx)
		return nil
	}))
	w.wantOrders(2)
	w.wantFree(w.op("k"))
}

func testTxMismatch(w *world) {
	op := w.op("k")
	op.Fingerprint = "f:1"
	_, _, err := w.do(0, op)
	w.must(err)
	op.Fingerprint = "f:2"
	w.must(w.inTx(0, func(tx *sql.Tx) error {
		if _, _, err := w.doTx(0, tx, op, nil); !errors.Is(err, nebis.ErrMismatch) {
			w.Errorf("error %v, want ErrMismatch", err)
		}
		w.note(tx)
		return nil
	}))
	w.wantOrders(2)
}

func testTxExpired(w *world) {
	_, _, err := w.do(0, w.op("k"))
	w.must(err)
	w.expire()
	w.manyTx(20)
	w.wantOrders(2)
}

func testTxMany(w *world) {
	w.manyTx(20)
	w.wantOrders(1)
}

// manyTx does the same key in n transactions, each beginning anew as long as it
// is told to, and wants one answer.
func (w *world) manyTx(n int) {
	var mu sync.Mutex
	answers := map[Order]int{}
	w.together(n, func(_, store int) {
		o, _, err := insist(func() (o Order, replayed bool, err error) {
			err = w.inTx(store, func(tx *sql.Tx) (err error) {
				o, replayed, err = w.doTx(store, tx, w.op("k"), nil)
				return err
			})
			if errors.Is(err, nebis.ErrTxGone) || w.d == nebis.SQLite && err != nil {
				err = fmt.Errorf("%w: %w", nebis.ErrNotCommitted, err)
			}
			return o, replayed, err
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

func testTxInProgress(w *world) {
	if w.d == nebis.SQLite {
		w.Skip("one writer: the caller's transaction could not write either")
	}
	var wg sync.WaitGroup
	finish := w.hold(&wg, w.op("k"), nil)
	w.must(w.inTx(1, func(tx *sql.Tx) error {
		if w.d == nebis.MySQL { // MySQL proper waits for the session's own time
			_, err := tx.Exec("SET SESSION innodb_lock_wait_timeout = 1")
			w.must(err)
		}
		w.note(tx)
		op := w.op("k")
		op.Wait = -1
		if _, _, err := w.doTx(1, tx, op, nil); !errors.Is(err, nebis.ErrInProgress) {
			w.Errorf("error %v, want ErrInProgress", err)
		}
		w.note(tx)
		return nil
	}))
	close(finish)
	wg.Wait()
	w.wantOrders(3)
}

func testTxEnded(w *world) {
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		err := w.inTx(0, func(tx *sql.Tx) error {
			_, _, err := nebis.DoTx(w.Context(), w.stores[0], tx, w.op(end), func(ctx context.Context) (Order, error) {
				o, err := w.place(ctx, tx, "tea")
				w.must(err)
				_, err = tx.ExecContext(ctx, end)
				return o, err
			})
			return err
		})
		if !errors.Is(err, nebis.ErrTxGone) {
			w.Errorf("%s: error %v, want ErrTxGone", end, err)
		}
	}
	w.wantUnknown(w.op("COMMIT"))
	w.wantFree(w.op("ROLLBACK"))
}

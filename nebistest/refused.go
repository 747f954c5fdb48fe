package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nebis-dev/nebis"
)

// Where Resolve refuses, and who wins.

func testResolveRefused(w *world) {
	o := &outside{world: w}
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, status) VALUES ('old', 'order', 'processing')")
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, status) VALUES ('old-done', 'order', 'done')")
	_, _, err := w.do(0, w.op("expired"))
	w.must(err)
	w.exec("UPDATE " + w.keys + " SET expires_at = '2001-01-01 00:00:00' WHERE idem_key = 'expired'")
	_, _, err = w.do(0, w.op("done"))
	w.must(err)
	_, _, err = o.lease(0, w.op("free"), nil, func(context.Context) (Order, error) { return Order{}, nebis.NotDone(errFirst) })
	if err != errFirst {
		w.Error(err)
	}
	_, _, err = o.lease(0, w.op("runs"), nil, func(ctx context.Context) (Order, error) {
		for key, want := range map[string]error{
			"none": nebis.ErrState, "old": nebis.ErrInProgress, "old-done": nebis.ErrState, "expired": nebis.ErrState,
			"done": nebis.ErrState, "free": nebis.ErrState, "runs": nebis.ErrInProgress,
		} {
			w.refused(key, want)
		}
		return o.buy(ctx)
	})
	w.must(err)
	w.wantOrders(2 + 2*7*2)
}

// refused has the key resolved, and wants an error after which the transaction
// goes on.
func (w *world) refused(key string, want error) {
	w.Helper()
	op := w.op(key)
	for _, r := range []nebis.Resolution{happened(byHand), didNot} {
		w.must(w.inTx(1, func(tx *sql.Tx) error {
			w.note(tx)
			before, err := w.stores[1].Resolve(w.Context(), tx, op.Scope, op.Owner, op.Key, r)
			if !errors.Is(err, want) || errors.Is(err, nebis.ErrTxGone) || (before == nil) != (key == "none") {
				w.Errorf("%s: %+v, error %v, want %v", key, before, err, want)
			}
			w.note(tx)
			return nil
		}))
	}
}

func testResolveMalformed(w *world) {
	o := &outside{world: w}
	w.use(nebis.Options{MaxResponse: 50})
	o.vanish(w.op("k"))
	for name, r := range map[string]nebis.Resolution{
		"without a reason": {Verdict: nebis.DidNotHappen}, "without a verdict": {Reason: "why"},
		"not JSON": happened("<p>"), "too large": happened(fmt.Sprintf("%60d", 1)),
	} {
		if _, err := w.resolve(0, "k", r); !errors.Is(err, nebis.ErrKey) {
			w.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := w.resolve(0, "mal formed", didNot); !errors.Is(err, nebis.ErrKey) {
		w.Errorf("a malformed key: error %v", err)
	}
	w.wantState("k", nebis.StateUnknown, "", 1)
}

func testResolveHeld(w *world) {
	o := &outside{world: w}
	o.vanish(w.op("k"))
	want := nebis.ErrInProgress
	w.must(w.inTx(0, func(holder *sql.Tx) error {
		_, err := holder.Exec("UPDATE " + w.keys + " SET attempts = 7")
		w.must(err)
		return w.inTx(1, func(tx *sql.Tx) error {
			switch w.d {
			case nebis.MySQL: // MySQL proper waits for the session's own time
				_, err = tx.Exec("SET SESSION innodb_lock_wait_timeout = 1")
			case nebis.SQLite:
				want = nebis.ErrBusy // its one writer is taken, which says nothing about the key
				_, err = tx.Exec("PRAGMA busy_timeout = 10")
			}
			w.must(err)
			op := w.op("k")
			if _, err := w.stores[1].Resolve(w.Context(), tx, op.Scope, op.Owner, op.Key, didNot); !errors.Is(err, want) || errors.Is(err, nebis.ErrTxGone) {
				w.Errorf("error %v, want %v", err, want)
			}
			if w.d != nebis.SQLite {
				w.note(tx)
			}
			return nil
		})
	}))
	w.wantState("k", nebis.StateUnknown, "", 7)
}

func testResolveMany(w *world) {
	o := &outside{world: w}
	started, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, _, err := o.lease(0, w.op("k"), nil, func(context.Context) (Order, error) {
			close(started)
			<-goOn
			return Order{99, "late"}, nil
		})
		ended <- err
	}()
	<-started
	w.silent()
	var wins atomic.Int32
	var mu sync.Mutex
	var answer string
	w.together(12, func(n, store int) {
		if n == 5 {
			close(goOn)
		}
		mine := fmt.Sprintf(`{"ID":%d,"Item":"by hand"}`, n)
		if _, err := w.resolve(store, "k", happened(mine)); err == nil {
			wins.Add(1)
			mu.Lock()
			answer = mine
			mu.Unlock()
		} else if w.d != nebis.SQLite {
			w.checkResolve(err)
		}
	})
	if err := <-ended; err == nil {
		wins.Add(1)
		answer = `{"ID":99,"Item":"late"}`
	} else if !errors.Is(err, nebis.ErrLost) {
		w.Errorf("the holder: error %v", err)
	}
	if wins.Load() != 1 {
		w.Errorf("%d have won", wins.Load())
	}
	w.wantState("k", nebis.StateDone, answer, 1)
}

func (w *world) checkResolve(err error) {
	w.Helper()
	if !errors.Is(err, nebis.ErrState) && !errors.Is(err, nebis.ErrInProgress) && !errors.Is(err, nebis.ErrTxGone) {
		w.Error(err)
	}
}

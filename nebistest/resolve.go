package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
)

// What a person does about a key.

var _ = register(
	testCase{"Resolve/done, and the answer is replayed", 0, testResolveDone},
	testCase{"Resolve/done without an answer", 0, testResolveNoAnswer},
	testCase{"Resolve/free, and it runs again", 0, testResolveFree},
	testCase{"Resolve/counts only when the caller commits", 0, testResolveRolledBack},
	testCase{"Resolve/a holder that was only slow has lost", 0, testResolveLate},
	testCase{"Resolve/refuses what is not unknown, and the transaction goes on", 0, testResolveRefused},
	testCase{"Resolve/refuses a resolution that says too little", 0, testResolveMalformed},
	testCase{"Resolve/does not wait for who holds the row", 0, testResolveHeld},
	testCase{"Resolve/many at once and a late holder, one wins", 0, testResolveMany},
	testCase{"Resolve/notices that its transaction has gone", 0, testResolveGone},
	testCase{"Release/a done key runs again", 0, testRelease},
)

const byHand = `{"ID":9,"Item":"by hand"}`

func happened(response string) nebis.Resolution {
	return nebis.Resolution{Verdict: nebis.Happened, Response: []byte(response), Reason: "asked the bank"}
}

var didNot = nebis.Resolution{Verdict: nebis.DidNotHappen, Reason: "the bank knows nothing"}

// resolve resolves a key in a transaction of its own.
func (w *world) resolve(i int, key string, r nebis.Resolution) (before *nebis.Entry, err error) {
	txErr := w.inTx(i, func(tx *sql.Tx) error {
		op := w.op(key)
		before, err = w.stores[i].Resolve(w.Context(), tx, op.Scope, op.Owner, op.Key, r)
		return err
	})
	if err == nil {
		err = txErr
	}
	return before, err
}

func (w *world) release(i int, key string) (before *nebis.Entry, err error) {
	txErr := w.inTx(i, func(tx *sql.Tx) error {
		op := w.op(key)
		before, err = w.stores[i].Release(w.Context(), tx, op.Scope, op.Owner, op.Key, "sold out by mistake")
		return err
	})
	if err == nil {
		err = txErr
	}
	return before, err
}

func testResolveDone(w *world) {
	o := &outside{world: w}
	op := w.op("k")
	op.Keep, op.Fingerprint = 48*time.Hour, "f:1"
	o.vanish(op)
	w.exec("UPDATE " + w.keys + " SET created_at = '2001-01-01 00:00:00', expires_at = '2001-01-03 00:00:00'")
	before, err := w.resolve(0, "k", happened(byHand))
	w.must(err)
	if before.State != nebis.StateUnknown || before.Error != errFirst.Error() {
		w.Errorf("before: %+v", before)
	}
	e := w.wantState("k", nebis.StateDone, byHand, 1) // its keep time begins anew
	if e.Error != "resolved as done: asked the bank" || (e.ExpiresAt.Sub(e.UpdatedAt)-op.Keep).Abs() > time.Minute {
		w.Errorf("after: %+v", e)
	}
	for i := range w.stores {
		if got, replayed, err := o.lease(i, op, nil, o.buy); got.ID != 9 || !replayed || err != nil {
			w.Errorf("got %v, replayed %v, error %v", got, replayed, err)
		}
	}
	w.wantReplay(op, Order{9, "by hand"})
	op.Fingerprint = "f:2"
	if _, _, err := w.do(1, op); !errors.Is(err, nebis.ErrMismatch) {
		w.Errorf("another request: error %v, want mismatch", err)
	}
	o.wantBought(1)
}

func testResolveNoAnswer(w *world) {
	o := &outside{world: w}
	o.vanish(w.op("k"))
	_, err := w.resolve(0, "k", nebis.Resolution{Verdict: nebis.Happened, Reason: "asked the bank"})
	w.must(err)
	w.wantState("k", nebis.StateDone, "", 1)
	if _, _, err := o.lease(1, w.op("k"), nil, o.buy); !errors.Is(err, nebis.ErrNotKept) {
		w.Errorf("error %v, want not kept", err)
	}
	o.wantBought(1)
}

func testResolveFree(w *world) {
	o := &outside{world: w}
	o.vanish(w.op("k"))
	_, err := w.resolve(1, "k", didNot)
	w.must(err)
	if e := w.wantState("k", nebis.StateFree, "", 1); e.Error != "resolved as not done: the bank knows nothing" {
		w.Errorf("error %q", e.Error)
	}
	if got, replayed, err := o.lease(0, w.op("k"), nil, o.buy); got.ID != 2 || replayed || err != nil {
		w.Errorf("got %v, replayed %v, error %v", got, replayed, err)
	}
	w.wantState("k", nebis.StateDone, `{"ID":2,"Item":"tea"}`, 2)
	// A Do whose function ended its transaction by hand can be resolved as well.
	if err := w.doSQL("by-hand", "COMMIT"); !errors.Is(err, nebis.ErrUnknown) {
		w.Error(err)
	}
	_, err = w.resolve(0, "by-hand", didNot)
	w.must(err)
	w.wantFree(w.op("by-hand"))
}

func testResolveRolledBack(w *world) {
	o := &outside{world: w}
	o.vanish(w.op("k"))
	err := w.inTx(0, func(tx *sql.Tx) error {
		w.note(tx)
		op := w.op("k")
		_, err := w.stores[0].Resolve(w.Context(), tx, op.Scope, op.Owner, op.Key, happened(byHand))
		w.must(err)
		return errFirst
	})
	if err != errFirst {
		w.Error(err)
	}
	w.wantState("k", nebis.StateUnknown, "", 1)
	w.wantOrders(0)
}

func testResolveLate(w *world) {
	o := &outside{world: w}
	for key, r := range map[string]nebis.Resolution{"done": happened(byHand), "free": didNot} {
		_, _, err := o.lease(0, w.op(key), nil, func(ctx context.Context) (Order, error) {
			w.silent()
			_, err := w.resolve(1, key, r)
			w.must(err)
			return o.buy(ctx)
		})
		if !errors.Is(err, nebis.ErrLost) {
			w.Errorf("%s: error %v, want lost", key, err)
		}
	}
	w.wantState("done", nebis.StateDone, byHand, 1)
	w.wantState("free", nebis.StateFree, "", 1)
	_, _, err := o.lease(0, w.op("won"), nil, func(ctx context.Context) (Order, error) {
		w.silent()
		return o.buy(ctx) // saves first
	})
	w.must(err)
	if before, err := w.resolve(1, "won", didNot); !errors.Is(err, nebis.ErrState) || before.State != nebis.StateDone {
		w.Errorf("after the holder's save: %+v, error %v", before, err)
	}
}

func testResolveGone(w *world) {
	if w.d == nebis.SQLite {
		w.Skip("a savepoint begins a transaction there")
	}
	o := &outside{world: w}
	o.vanish(w.op("k"))
	op := w.op("k")
	err := w.inTx(0, func(tx *sql.Tx) error {
		_, err := tx.Exec("ROLLBACK")
		w.must(err)
		_, err = w.stores[0].Resolve(w.Context(), tx, op.Scope, op.Owner, op.Key, didNot)
		return err
	})
	if !errors.Is(err, nebis.ErrTxGone) {
		w.Errorf("error %v, want ErrTxGone", err)
	}
	w.wantState("k", nebis.StateUnknown, "", 1)
}

func testRelease(w *world) {
	o := &outside{world: w}
	first, _, err := o.lease(0, w.op("k"), nil, o.buy)
	w.must(err)
	before, err := w.release(1, "k")
	w.must(err)
	if before.State != nebis.StateDone || string(before.Response) != fmt.Sprintf(`{"ID":%d,"Item":"tea"}`, first.ID) {
		w.Errorf("before: %+v", before)
	}
	if e := w.wantState("k", nebis.StateFree, "", 1); e.Error != "released: sold out by mistake" {
		w.Errorf("error %q", e.Error)
	}
	if _, err := w.release(0, "k"); !errors.Is(err, nebis.ErrState) {
		w.Errorf("a free one: error %v", err)
	}
	for i := range w.stores { // both remember that it was done
		if got, replayed, err := o.lease(i, w.op("k"), nil, o.buy); got.ID != 2 || replayed != (i > 0) || err != nil {
			w.Errorf("got %v, replayed %v, error %v", got, replayed, err)
		}
	}
	w.wantState("k", nebis.StateDone, `{"ID":2,"Item":"tea"}`, 2)
	o.vanish(w.op("unknown"))
	if _, err := w.release(0, "unknown"); !errors.Is(err, nebis.ErrState) {
		w.Errorf("an unknown one: error %v", err)
	}
	o.wantBought(3)
}

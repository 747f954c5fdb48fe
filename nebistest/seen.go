package nebistest

import (
	"context"
	"errors"
	"time"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"KeepSeen/a late retry is told, and does not run", 0, testSeen},
	testCase{"KeepSeen/a Lease and a DoTx are remembered as well", 0, testSeenLease},
	testCase{"KeepSeen/when it is over, one of many runs", 0, testSeenOver},
	testCase{"KeepSeen/shorter than Keep, it changes nothing", 0, testSeenShort},
	testCase{"KeepSeen/nobody runs while the answer is taken away", 0, testSeenMany},
	testCase{"KeepSeen/the rows of a Batch are remembered", 0, testSeenBatch},
	testCase{"KeepSeen/what a person has resolved is remembered", 0, testSeenResolved},
)

func (w *world) remembered(key string) nebis.Op {
	op := w.op(key)
	op.Fingerprint, op.Keep, op.KeepSeen = "f:1", time.Hour, 48*time.Hour
	return op
}

// wantNotKept checks that both stores, and a DoTx, say that the answer is gone.
func (w *world) wantNotKept(op nebis.Op) {
	w.Helper()
	for i := range w.stores {
		if _, _, err := w.do(i, op); !errors.Is(err, nebis.ErrNotKept) {
			w.Errorf("store %d: error %v", i, err)
		}
		tx, err := w.dbs[i].Begin()
		w.must(err)
		_, _, err = nebis.DoTx(w.Context(), w.stores[i], tx, op, func(ctx context.Context) (Order, error) { return w.place(ctx, tx, "tea") })
		if !errors.Is(err, nebis.ErrNotKept) {
			w.Errorf("store %d: error of DoTx %v", i, err)
		}
		w.must(tx.Rollback())
	}
}

// forget ends the time for which keys are remembered, too.
func (w *world) forget() {
	w.Helper()
	w.exec("UPDATE " + w.keys + " SET lease_until = '2001-01-01 00:00:00', expires_at = '2001-01-01 00:00:00'")
}

func testSeen(w *world) {
	op := w.remembered("k")
	first, _, err := w.do(0, op)
	w.must(err)
	w.wantReplay(op, first)
	if e, err := w.stores[0].Look(w.Context(), op.Scope, op.Owner, op.Key); err != nil || (e.SeenUntil.Sub(e.UpdatedAt)-op.KeepSeen).Abs() > time.Minute {
		w.Errorf("%+v, error %v", e, err)
	}
	w.expire()
	w.wantNotKept(op)
	other := op
	other.Fingerprint = "f:2"
	if _, _, err := w.do(0, other); !errors.Is(err, nebis.ErrMismatch) {
		w.Errorf("another request: error %v", err)
	}
	n, _, err := w.stores[1].Expired(w.Context(), 0, 10)
	if n != (nebis.Swept{Answers: 1}) || err != nil {
		w.Errorf("%+v has expired, error %v", n, err)
	}
	if done := w.sweep(1, nil); done != (nebis.Swept{Answers: 1, Batches: 1}) {
		w.Errorf("done %+v", done)
	}
	w.wantNotKept(op)
	if e, err := w.stores[0].Look(w.Context(), op.Scope, op.Owner, op.Key); err != nil || e.State != nebis.StateDone || e.Response != nil || (e.ExpiresAt.Sub(e.UpdatedAt)-op.KeepSeen).Abs() > time.Minute {
		w.Errorf("%+v, error %v", e, err)
	}
	if n := w.count(w.keys + " WHERE response IS NOT NULL AND idem_key = 'k'"); n != 0 {
		w.Error("the answer is still there")
	}
	if done := w.sweep(0, nil); done != (nebis.Swept{}) {
		w.Errorf("a second time: %+v", done)
	}
	w.wantOrders(1)
	w.forget()
	second, replayed, err := w.do(1, op)
	if err != nil || replayed {
		w.Errorf("replayed %v, error %v", replayed, err)
	}
	w.wantReplay(op, second)
	w.wantOrders(2)
}

func testSeenLease(w *world) {
	o := &outside{world: w}
	_, _, err := o.lease(0, w.remembered("lease"), nil, o.buy)
	w.must(err)
	tx, err := w.dbs[0].Begin()
	w.must(err)
	_, _, err = nebis.DoTx(w.Context(), w.stores[0], tx, w.remembered("tx"), func(ctx context.Context) (Order, error) { return w.place(ctx, tx, "tea") })
	w.must(err)
	w.must(tx.Commit())
	w.expire()
	for range 2 {
		w.wantNotKept(w.remembered("lease"))
		w.wantNotKept(w.remembered("tx"))
		if _, _, err := o.lease(1, w.remembered("lease"), nil, o.buy); !errors.Is(err, nebis.ErrNotKept) {
			w.Errorf("error %v", err)
		}
		w.sweep(0, nil)
	}
	o.wantBought(1)
	w.wantOrders(1)
}

func testSeenOver(w *world) {
	op := w.remembered("k")
	_, _, err := w.do(0, op)
	w.must(err)
	w.expire()
	w.forget() // and nobody has swept
	answers := make(chan Order, 20)
	w.together(20, func(_, store int) {
		o, _, err := insist(func() (Order, bool, error) { return w.do(store, op) })
		w.check(err)
		answers <- o
	})
	close(answers)
	one := <-answers
	for o := range answers {
		if o != one {
			w.Errorf("answers %v and %v", one, o)
		}
	}
	w.wantOrders(2)
	w.expire()
	w.wantNotKept(op)
	w.forget()
	if done := w.sweep(0, nil); done != (nebis.Swept{Rows: 1, Batches: 1}) {
		w.Errorf("done %+v", done)
	}
}

func testSeenShort(w *world) {
	op := w.op("k")
	op.Keep, op.KeepSeen = 2*time.Hour, time.Hour
	_, _, err := w.do(0, op)
	w.must(err)
	w.expire()
	if _, replayed, err := w.do(1, op); replayed || err != nil {
		w.Errorf("replayed %v, error %v", replayed, err)
	}
	w.expire()
	if done := w.sweep(0, nil); done != (nebis.Swept{Rows: 1, Batches: 1}) {
		w.Errorf("done %+v", done)
	}
	if _, err := nebis.New(w.dbs[0], w.d, &nebis.Options{KeepSeen: -1}); err == nil {
		w.Error("a negative KeepSeen in Options is no error")
	}
	op.KeepSeen = -1
	if _, _, err := w.do(0, op); !errors.Is(err, nebis.ErrKey) {
		w.Errorf("error %v", err)
	}
}

func testSeenMany(w *world) {
	w.use(nebis.Options{KeepSeen: 48 * time.Hour})
	keys := []string{"a", "b", "c", "d"}
	for _, k := range keys {
		_, _, err := w.do(0, w.op(k))
		w.must(err)
	}
	w.expire()
	w.together(12, func(i, store int) {
		if i%6 == 0 {
			_, err := w.stores[store].Purge(w.Context(), 2)
			w.check(err)
			return
		}
		_, _, err := insist(func() (Order, bool, error) { return w.do(store, w.op(keys[i%4])) })
		if !errors.Is(err, nebis.ErrNotKept) {
			w.Errorf("error %v", err)
		}
	})
	w.sweep(0, nil)
	for _, k := range keys {
		w.wantNotKept(w.op(k))
	}
	w.wantOrders(len(keys))
}

func testSeenBatch(w *world) {
	w.use(nebis.Options{KeepSeen: 48 * time.Hour})
	rows := batchOf(3)
	w.wantRows(w.batch(0, "b", rows), map[nebis.RowStatus]int{nebis.RowCreated: 3})
	w.expire()
	for range 2 {
		for _, r := range w.batch(1, "b", rows) {
			if r.Status != nebis.RowFailed || !errors.Is(r.Err, nebis.ErrNotKept) {
				w.Errorf("%s is %s, error %v", r.Key, r.Status, r.Err)
			}
		}
		w.sweep(0, nil)
	}
	w.wantOrders(3)
}

func testSeenResolved(w *world) {
	w.use(nebis.Options{KeepSeen: 48 * time.Hour})
	o := &outside{world: w}
	op := w.op("k")
	o.vanish(op)
	_, err := w.resolve(0, "k", happened(byHand))
	w.must(err)
	w.wantReplay(w.op("k"), Order{ID: 9, Item: "by hand"})
	w.expire()
	w.wantNotKept(w.op("k"))
	w.sweep(0, nil)
	w.wantNotKept(w.op("k"))
	_, err = w.release(0, "k")
	w.must(err)
	w.wantFree(w.op("k"))
	_, _, err = w.do(0, w.op("freed"))
	w.must(err)
	_, err = w.release(0, "freed")
	w.must(err)
	e, err := w.stores[0].Look(w.Context(), op.Scope, op.Owner, "freed")
	if err != nil || e.State != nebis.StateFree || !e.LeaseUntil.IsZero() {
		w.Errorf("%+v, error %v", e, err)
	}
}

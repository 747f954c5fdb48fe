package nebistest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nebis-dev/nebis"
)

// What becomes of a lease whose holder has gone silent.

func testLeaseVerify(w *world) {
	o := &outside{world: w}
	o.vanish(w.op("k"))
	var verified atomic.Int32
	opts := &nebis.LeaseOptions[Order]{Verify: func(context.Context) (nebis.Verdict, Order, error) {
		verified.Add(1)
		return nebis.Happened, Order{1, "tea"}, nil
	}}
	w.together(20, func(_, store int) {
		got, _, err := insist(func() (Order, bool, error) { return o.lease(store, w.op("k"), opts, o.buy) })
		if got != (Order{1, "tea"}) || err != nil {
			w.Errorf("got %v, error %v", got, err)
		}
	})
	if verified.Load() != 1 {
		w.Errorf("verified %d times", verified.Load())
	}
	if n := w.attempts(); n != 2 {
		w.Errorf("%d attempts, want 2", n)
	}
	o.wantBought(1)
}

func testLeaseVerdicts(w *world) {
	for key, c := range map[string]struct {
		verdict nebis.Verdict
		err     error
		unknown bool
		bought  int32
	}{
		"happened":    {nebis.Happened, nil, false, 1},
		"did-not":     {nebis.DidNotHappen, nil, false, 2},
		"cannot-tell": {nebis.CannotTell, nil, true, 1},
		"error":       {nebis.Happened, errFirst, true, 1},
	} {
		o := &outside{world: w}
		op := w.op(key)
		op.Fingerprint = "f:1"
		o.vanish(op)
		verify := &nebis.LeaseOptions[Order]{Verify: func(context.Context) (nebis.Verdict, Order, error) { return c.verdict, Order{1, "tea"}, c.err }}
		for range 2 {
			other := op
			other.Fingerprint = "f:2"
			if _, _, err := o.lease(1, other, verify, o.buy); !errors.Is(err, nebis.ErrMismatch) {
				w.Errorf("%s, another request: error %v, want mismatch", key, err)
			}
			got, _, err := o.lease(1, op, verify, o.buy)
			if errors.Is(err, nebis.ErrUnknown) != c.unknown || err == nil && got.ID != int(c.bought) || c.err != nil && !errors.Is(err, c.err) {
				w.Errorf("%s: got %v, error %v", key, got, err)
			}
		}
		o.wantBought(c.bought)
	}
}

func testLeaseLost(w *world) {
	o := &outside{world: w}
	verify := &nebis.LeaseOptions[Order]{Verify: func(context.Context) (nebis.Verdict, Order, error) { return nebis.Happened, Order{7, "tea"}, nil }}
	_, _, err := o.lease(0, w.op("k"), &nebis.LeaseOptions[Order]{Length: 300 * time.Millisecond}, func(ctx context.Context) (Order, error) {
		w.silent() // paused for longer than its lease
		if got, _, err := o.lease(1, w.op("k"), verify, o.buy); got.ID != 7 || err != nil {
			w.Errorf("the successor got %v, error %v", got, err)
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), nebis.ErrLost) {
			w.Errorf("the context ended by %v", context.Cause(ctx))
		}
		return o.buy(ctx)
	})
	if !errors.Is(err, nebis.ErrLost) {
		w.Errorf("error %v, want lost", err)
	}
	w.wantReplay(w.op("k"), Order{7, "tea"})
}

package nebistest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"Lease/runs once and replays", 0, testLeaseOnce},
	testCase{"Lease/many at once, one execution", 0, testLeaseMany},
	testCase{"Lease/an expired key is a new operation, exactly one of 20 senders", 0, testLeaseExpired},
	testCase{"Lease/NotDone frees the key and counts the attempts", 0, testLeaseNotDone},
	testCase{"Lease/an error, a panic and Goexit are unknown for good", 0, testLeaseUnknown},
	testCase{"Lease/the key of a silent holder is unknown, and verified once", 0, testLeaseVerify},
	testCase{"Lease/a verdict decides", 0, testLeaseVerdicts},
	testCase{"Lease/who has lost it hears of it and saves nothing", 0, testLeaseLost},
	testCase{"Lease/lives as long as its function", 0, testLeaseExtended},
	testCase{"Lease/a duplicate waits for the first, and Do tells of it", 0, testLeaseWaits},
	testCase{"Lease/refuses what cannot be leased before any SQL", 0, testLeaseRefused},
	testCase{"Lease/refuses another fingerprint; a large answer is not kept", 0, testLeaseAnswers},
)

// outside is what the work of a lease does: it places orders that no transaction
// takes back.
type outside struct {
	*world
	orders atomic.Int32
}

func (o *outside) buy(context.Context) (Order, error) {
	return Order{int(o.orders.Add(1)), "tea"}, nil
}

func (o *outside) lease(i int, op nebis.Op, opts *nebis.LeaseOptions[Order], f func(context.Context) (Order, error)) (Order, bool, error) {
	return nebis.Lease(o.Context(), o.stores[i], op, opts, f)
}

func (o *outside) wantBought(n int32) {
	o.Helper()
	if got := o.orders.Load(); got != n {
		o.Errorf("%d orders outside, want %d", got, n)
	}
}

// silent makes the row of a running or failed lease one whose holder has gone.
func (w *world) silent() {
	w.Helper()
	w.exec("UPDATE " + w.keys + " SET lease_until = '2001-01-01 00:00:00'")
}

// vanish leaves a key behind whose holder has gone, as after a SIGKILL.
func (o *outside) vanish(op nebis.Op) {
	o.Helper()
	_, _, err := o.lease(0, op, nil, func(ctx context.Context) (Order, error) {
		_, _ = o.buy(ctx)
		return Order{}, errFirst
	})
	if !errors.Is(err, nebis.ErrUnknown) || !errors.Is(err, errFirst) {
		o.Errorf("error %v, want unknown", err)
	}
	o.silent()
}

func testLeaseOnce(w *world) {
	o := &outside{world: w}
	first, replayed, err := o.lease(0, w.op("k"), nil, o.buy)
	if err != nil || replayed {
		w.Fatalf("replayed %v, error %v", replayed, err)
	}
	for i := range w.stores {
		if got, replayed, err := o.lease(i, w.op("k"), nil, o.buy); got != first || !replayed || err != nil {
			w.Errorf("got %v, replayed %v, error %v", got, replayed, err)
		}
	}
	o.wantBought(1)
	w.wantReplay(w.op("k"), first) // to Do it is a key like any other
}

func testLeaseMany(w *world) {
	o := &outside{world: w}
	var firsts atomic.Int32
	w.together(40, func(_, store int) {
		got, replayed, err := insist(func() (Order, bool, error) { return o.lease(store, w.op("k"), nil, o.buy) })
		if err != nil || got.ID != 1 {
			w.Errorf("got %v, error %v", got, err)
		}
		if !replayed {
			firsts.Add(1)
		}
	})
	o.wantBought(1)
	if firsts.Load() != 1 {
		w.Errorf("%d first answers", firsts.Load())
	}
}

func testLeaseExpired(w *world) {
	o := &outside{world: w}
	_, _, err := o.lease(0, w.op("k"), nil, o.buy)
	w.must(err)
	w.expire()
	w.together(20, func(_, store int) {
		got, _, err := insist(func() (Order, bool, error) { return o.lease(store, w.op("k"), nil, o.buy) })
		if err != nil || got.ID != 2 {
			w.Errorf("got %v, error %v", got, err)
		}
	})
	o.wantBought(2)
}

func testLeaseNotDone(w *world) {
	o := &outside{world: w}
	for range 2 {
		_, _, err := o.lease(0, w.op("k"), nil, func(context.Context) (Order, error) { return Order{}, nebis.NotDone(errFirst) })
		if err != errFirst {
			w.Errorf("error %v, want the function's own", err)
		}
	}
	var text string
	w.must(w.dbs[0].QueryRow("SELECT error FROM " + w.keys).Scan(&text))
	if text != errFirst.Error() {
		w.Errorf("error column %q", text)
	}
	if _, replayed, err := o.lease(1, w.op("k"), nil, o.buy); err != nil || replayed {
		w.Errorf("replayed %v, error %v", replayed, err)
	}
	_, _, err := o.lease(0, w.op("k"), nil, o.buy)
	w.must(err)
	if n := w.attempts(); n != 3 {
		w.Errorf("%d attempts after a replay, want 3", n)
	}
	o.wantBought(1)
}

func (w *world) attempts() (n int) {
	w.Helper()
	w.must(w.dbs[1].QueryRow("SELECT attempts FROM " + w.keys).Scan(&n))
	return n
}

func testLeaseUnknown(w *world) {
	o := &outside{world: w}
	for key, end := range map[string]func() error{
		"error":  func() error { return errors.New("无法知道 😀 " + strings.Repeat("long ", 200)) },
		"panic":  func() error { panic("no") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			_, _, err := o.lease(0, w.op(key), nil, func(context.Context) (Order, error) { return Order{}, end() })
			if !errors.Is(err, nebis.ErrUnknown) {
				w.Errorf("%s: error %v, want unknown", key, err)
			}
		})
		wg.Wait()
		for i := range w.stores {
			if _, _, err := o.lease(i, w.op(key), nil, o.buy); !errors.Is(err, nebis.ErrUnknown) {
				w.Errorf("%s, again: error %v, want unknown", key, err)
			}
			if _, _, err := w.do(i, w.op(key)); !errors.Is(err, nebis.ErrUnknown) || errors.Is(err, nebis.ErrTxGone) {
				w.Errorf("%s, by Do: error %v, want unknown", key, err)
			}
		}
	}
	w.expire()
	if n, err := w.stores[0].Purge(w.Context(), 10); n != 0 || err != nil {
		w.Errorf("purged %d, error %v", n, err)
	}
	o.wantBought(0)
}

// The function waits to see its lease extended, several times over.
func testLeaseExtended(w *world) {
	o := &outside{world: w}
	until := func() (s string) {
		w.check(w.dbs[1].QueryRow("SELECT lease_until FROM " + w.keys).Scan(&s))
		return s
	}
	_, _, err := o.lease(0, w.op("k"), &nebis.LeaseOptions[Order]{Length: 2 * time.Second}, func(ctx context.Context) (Order, error) {
		for range 4 {
			for was := until(); was == until() && ctx.Err() == nil; {
				time.Sleep(10 * time.Millisecond)
			}
		}
		if _, _, err := w.do(1, w.now("k")); !errors.Is(err, nebis.ErrInProgress) {
			w.Errorf("beside it: error %v, want in progress", err)
		}
		return Order{1, "tea"}, ctx.Err()
	})
	w.must(err)
	w.wantReplay(w.op("k"), Order{1, "tea"})
}

// now is op without waiting.
func (w *world) now(key string) nebis.Op {
	op := w.op(key)
	op.Wait = -1
	return op
}

func testLeaseWaits(w *world) {
	o := &outside{world: w}
	op := w.op("k")
	op.Wait = time.Minute
	waiting, second := make(chan struct{}), make(chan error, 1)
	first, _, err := o.lease(0, op, nil, func(ctx context.Context) (Order, error) {
		if _, _, err := o.lease(1, w.now("k"), nil, o.buy); !errors.Is(err, nebis.ErrInProgress) {
			w.Errorf("error %v, want in progress", err)
		}
		if _, _, err := w.do(1, w.now("k")); !errors.Is(err, nebis.ErrInProgress) {
			w.Errorf("Do: error %v, want in progress", err)
		}
		go func() {
			close(waiting)
			got, replayed, err := o.lease(1, op, nil, o.buy)
			if got.ID != 1 || !replayed {
				w.Errorf("the duplicate got %v, replayed %v", got, replayed)
			}
			second <- err
		}()
		<-waiting
		if _, _, err := nebis.Lease(ctx, w.stores[0], op, nil, o.buy); err == nil {
			w.Error("a Lease inside a Lease of the same key is no error")
		}
		return o.buy(ctx)
	})
	w.must(err)
	w.must(<-second)
	w.wantReplay(op, first)
	o.wantBought(1)
}

func testLeaseRefused(w *world) {
	o := &outside{world: w}
	for _, length := range []time.Duration{-time.Second, time.Microsecond} {
		if _, _, err := o.lease(0, w.op("k"), &nebis.LeaseOptions[Order]{Length: length}, o.buy); !errors.Is(err, nebis.ErrKey) {
			w.Errorf("a lease of %v: error %v", length, err)
		}
	}
	if _, _, err := o.lease(0, nebis.Op{Scope: "order", Key: "k"}, nil, o.buy); !errors.Is(err, nebis.ErrKey) {
		w.Errorf("without an owner: error %v", err)
	}
	past, cancel := context.WithDeadline(w.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, _, err := nebis.Lease(past, w.stores[0], w.op("k"), nil, o.buy); !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("a deadline that is past: error %v", err)
	}
	if n := w.count(w.keys); n != 0 {
		w.Errorf("%d rows", n)
	}
	o.wantBought(0)
}

func testLeaseAnswers(w *world) {
	o := &outside{world: w}
	op := w.op("k")
	op.Fingerprint, op.MaxResponse = "f:1", 5
	first, _, err := o.lease(0, op, nil, o.buy)
	if first.ID != 1 || err != nil {
		w.Errorf("got %v, error %v", first, err)
	}
	if _, _, err := o.lease(1, op, nil, o.buy); !errors.Is(err, nebis.ErrNotKept) {
		w.Errorf("error %v, want not kept", err)
	}
	op.Fingerprint = "f:2"
	if _, _, err := o.lease(1, op, nil, o.buy); !errors.Is(err, nebis.ErrMismatch) {
		w.Errorf("error %v, want mismatch", err)
	}
	o.wantBought(1)
}

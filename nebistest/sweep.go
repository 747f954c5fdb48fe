package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"Sweep/removes what has expired, batch by batch, and nothing else", 0, testSweep},
	testCase{"Sweep/one runs at a time, a second ends at once", 0, testSweepAlone},
	testCase{"Sweep/who has lost the turn stops", 0, testSweepLost},
	testCase{"Sweep/stops after the batch when its context ends", 0, testSweepStops},
	testCase{"Sweep/leaves younger rows to another time", 0, testSweepOlder},
	testCase{"Sweep/goes round what is held", nebis.MySQL, testSweepHeld},
	testCase{"Sweep/goes round what is held", nebis.Postgres, testSweepHeld},
	testCase{"Sweep/does not wait for a key that is claimed beside it", nebis.MySQL, testSweepBeside},
	testCase{"Sweep/does not wait for a key that is claimed beside it", nebis.Postgres, testSweepBeside},
)

// expired makes n expired rows.
func (w *world) expired(n int) {
	w.Helper()
	for i := range n {
		w.exec(fmt.Sprintf("INSERT INTO %s (idem_key, scope, owner, token, status, response, expires_at) VALUES ('old%d', 'order', 'user-1', 't', 'done', '{}', '2001-01-01 00:00:%02d')",
			w.keys, i, i%60))
	}
}

// left counts the rows but for that of the turn to sweep.
func (w *world) left() int {
	w.Helper()
	return w.count(w.keys + " WHERE scope <> 'nebis.sweep'")
}

func (w *world) sweep(store int, o *nebis.SweepOptions) nebis.Swept {
	w.Helper()
	done, err := w.stores[store].Sweep(w.Context(), o)
	w.must(err)
	return done
}

func testSweep(w *world) {
	fresh, _, err := w.do(0, w.op("fresh"))
	w.must(err)
	w.expired(45)
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, owner, token, status, expires_at) VALUES ('lost', 'order', 'user-1', 't', 'processing', '2001-01-01 00:00:00')")
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, owner, token, status, expires_at) VALUES ('freed', 'order', 'user-1', 't', 'failed', '2001-01-01 00:00:00')")
	n, more, err := w.stores[1].Expired(w.Context(), 0, 40)
	if n != 40 || !more || err != nil {
		w.Errorf("%d and more %v, error %v", n, more, err)
	}
	if n, more, err = w.stores[1].Expired(w.Context(), 0, 100); n != 46 || more || err != nil {
		w.Errorf("%d and more %v, error %v", n, more, err)
	}
	var seen []nebis.Swept
	done := w.sweep(0, &nebis.SweepOptions{Batch: 10, Pause: time.Microsecond, Progress: func(s nebis.Swept) { seen = append(seen, s) }})
	if done.Rows != 46 || done.Batches != len(seen) || seen[0].Rows != 10 || seen[len(seen)-1] != done {
		w.Errorf("done %+v, on the way %+v", done, seen)
	}
	if last, at, err := w.stores[1].LastSweep(w.Context()); last != done || at.IsZero() || err != nil {
		w.Errorf("the last one did %+v at %v, error %v", last, at, err)
	}
	if n := w.left(); n != 2 {
		w.Errorf("%d rows left, want the fresh one and the one in processing", n)
	}
	w.wantReplay(w.op("fresh"), fresh)
	if done := w.sweep(1, nil); done != (nebis.Swept{}) {
		w.Errorf("a second time: %+v", done)
	}
}

func testSweepAlone(w *world) {
	w.expired(30)
	var second []error
	done := w.sweep(0, &nebis.SweepOptions{Batch: 10, Progress: func(nebis.Swept) {
		_, err := w.stores[1].Sweep(w.Context(), nil)
		second = append(second, err)
	}})
	if done.Rows != 30 || len(second) == 0 || slices.ContainsFunc(second, func(err error) bool { return !errors.Is(err, nebis.ErrSweeping) }) {
		w.Errorf("done %+v, the second one: %v", done, second)
	}
	// Its process died in the middle, lately and long ago.
	const turn = " WHERE scope = 'nebis.sweep'"
	w.exec("UPDATE " + w.keys + " SET token = 'other', lease_until = '2101-01-01 00:00:00'" + turn)
	if _, err := w.stores[1].Sweep(w.Context(), nil); !errors.Is(err, nebis.ErrSweeping) {
		w.Errorf("error %v", err)
	}
	w.exec("UPDATE " + w.keys + " SET lease_until = '2001-01-01 00:00:00'" + turn)
	w.expired(5)
	if done := w.sweep(1, nil); done.Rows != 5 {
		w.Errorf("done %+v", done)
	}
}

func testSweepLost(w *world) {
	w.expired(40)
	done, err := w.stores[0].Sweep(w.Context(), &nebis.SweepOptions{Batch: 10, Progress: func(nebis.Swept) {
		w.exec("UPDATE " + w.keys + " SET token = 'other' WHERE scope = 'nebis.sweep'")
	}})
	if !errors.Is(err, nebis.ErrSweeping) || done.Rows != 10 || w.left() != 30 {
		w.Errorf("done %+v, %d left, error %v", done, w.left(), err)
	}
}

func testSweepStops(w *world) {
	w.expired(40)
	ctx, cancel := context.WithCancel(w.Context())
	done, err := w.stores[0].Sweep(ctx, &nebis.SweepOptions{Batch: 10, Progress: func(nebis.Swept) { cancel() }})
	if err != context.Canceled || done != (nebis.Swept{Rows: 10, Batches: 1}) || w.left() != 30 {
		w.Errorf("done %+v, %d left, error %v", done, w.left(), err)
	}
	if _, at, err := w.stores[0].LastSweep(w.Context()); !at.IsZero() || err != nil {
		w.Errorf("it came to its end at %v, error %v", at, err)
	}
	if done := w.sweep(1, nil); done.Rows != 30 {
		w.Errorf("the next one: %+v", done)
	}
}

func testSweepOlder(w *world) {
	w.expired(3)
	op := w.op("young")
	op.Keep = time.Millisecond
	_, _, err := w.do(0, op)
	w.must(err)
	for {
		n, _, err := w.stores[0].Expired(w.Context(), 0, 10)
		w.must(err)
		if n == 4 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if done := w.sweep(0, &nebis.SweepOptions{OlderThan: time.Hour}); done.Rows != 3 || w.left() != 1 {
		w.Errorf("done %+v, %d left", done, w.left())
	}
}

func testSweepHeld(w *world) {
	w.expired(30)
	op := w.op("old17")
	first, replayed, err := nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
		if done := w.sweep(1, &nebis.SweepOptions{Batch: 16}); done.Rows != 29 {
			w.Errorf("done %+v", done)
		}
		return w.place(ctx, tx, "tea")
	})
	if err != nil || replayed {
		w.Fatalf("replayed %v, error %v", replayed, err)
	}
	w.wantReplay(op, first)
	w.expire()
	w.expired(17)
	_, _, err = nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
		// MySQL before 8.0.1 has to find out, which leaves one row for each call.
		if n, err := w.stores[1].Purge(ctx, 16); err != nil || n == 0 {
			w.Errorf("Purge removed %d, error %v", n, err)
		}
		return w.place(ctx, tx, "tea")
	})
	w.must(err)
}

// A table so small that a database might rather read it as a whole.
func testSweepBeside(w *world) {
	w.expired(10)
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("new"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		if done := w.sweep(1, nil); done != (nebis.Swept{Rows: 10, Batches: 1}) {
			w.Errorf("done %+v", done)
		}
		w.expired(10)
		if n, err := w.stores[1].Purge(ctx, 100); n != 10 || err != nil {
			w.Errorf("Purge removed %d, error %v", n, err)
		}
		return w.place(ctx, tx, "tea")
	})
	w.must(err)
}

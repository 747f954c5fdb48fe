package nebis

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// SweepOptions are what a Sweep does differently from its defaults.
type SweepOptions struct {
	// Batch is how many rows the first batch has. Defaults to 1,000. Those after it
	// are smaller when one took long, and grow again, up to five times this.
	Batch int

	// Pause is the least time between two batches. Defaults to 10 milliseconds. A
	// batch that took longer is followed by a pause as long as itself.
	Pause time.Duration

	// OlderThan is for how long a row must have expired. Defaults to 0.
	OlderThan time.Duration

	// Progress, if set, is called after each batch with what was done so far, by
	// the goroutine that called Sweep.
	Progress func(Swept)
}

// Swept is how far a Sweep came.
type Swept struct {
	Rows    int `json:"rows"` // removed
	Batches int `json:"batches"`
}

// Sweep removes what has expired, batch by batch, until nothing is left of it. It
// makes room for the claims beside it: a batch is one short transaction, at READ
// COMMITTED on MySQL and MariaDB and in its turn as the one writer on SQLite, its
// size follows the time that the last one took, and as long as that it rests. It
// leaves alone what somebody holds, but waits for it on MySQL before 8.0.1, up to a
// second.
//
// One Sweep runs at a time, over all processes: another returns ErrSweeping at
// once. The turn is a row of the table (scope nebis.sweep), which also says when
// the last one came to its end, see LastSweep; where a process died in the middle,
// it is free again after a minute or two.
//
// When ctx ends, it stops after the batch that runs, and returns how far it came
// and the context's error. A batch that fails (a statement time-out, a deadlock) is
// tried again with fewer rows, some times; then its error is returned, and
// what was done before stays done.
func (s *Store) Sweep(ctx context.Context, o *SweepOptions) (Swept, error) {
	w := &sweep{s: s, held: map[int64]bool{}}
	if o != nil {
		w.o = *o
	}
	if w.o.Batch < 0 || w.o.Pause < 0 || w.o.OlderThan < 0 {
		return Swept{}, errors.New("nebis: sweep: a bound in SweepOptions is negative")
	}
	orDefault(&w.o.Batch, 1000)
	orDefault(&w.o.Pause, 10*time.Millisecond)
	w.turn = turn{token: rand.Text(), lease: time.Minute + 2*s.o.CommitWait + w.o.Pause} // between two batches
	err := w.take(ctx)
	if err == nil {
		err = w.run(ctx)
	}
	if err != nil && !errors.Is(err, ErrSweeping) && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("nebis: sweep: %w", err)
	}
	return w.done, err
}

// A sweep is one call of Sweep.
type sweep struct {
	s     *Store
	o     SweepOptions
	turn  turn
	floor string
	held  map[int64]bool
	done  Swept
}

// aside runs one step to its end, even if ctx has ended.
func (w *sweep) aside(ctx context.Context, do func(context.Context, *sql.Tx, *engine) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.s.o.CommitWait)
	defer cancel()
	return w.s.short(ctx, func(tx *sql.Tx, e *engine) error { return do(ctx, tx, e) })
}

// take takes the turn, or returns ErrSweeping.
func (w *sweep) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.aside(ctx, func(ctx context.Context, tx *sql.Tx, e *engine) error {
		w.floor = e.clean.nothing
		if _, err := tx.ExecContext(ctx, e.clean.take, w.turn.token, w.turn.lease.Microseconds()); err != nil {
			return err
		}
		var holder string
		if err := tx.QueryRowContext(ctx, e.clean.whose).Scan(&w.turn.id, &holder); err != nil {
			return err
		}
		if holder != w.turn.token {
			return ErrSweeping
		}
		return nil
	})
}

// run sweeps and gives the turn back.
func (w *sweep) run(ctx context.Context) error {
	err := w.stampAll(ctx)
	if err == nil {
		err = w.batches(ctx)
	}
	if errors.Is(err, ErrSweeping) {
		return err // somebody else has the turn
	}
	end := w.aside(ctx, func(ctx context.Context, tx *sql.Tx, e *engine) error {
		if err != nil {
			_, err := tx.ExecContext(ctx, e.clean.quit, w.turn.id, w.turn.token)
			return err
		}
		done, _ := json.Marshal(w.done)
		_, err := tx.ExecContext(ctx, e.clean.leave, string(done), w.turn.id, w.turn.token)
		return err
	})
	return orElse(err, end)
}

// stampAll gives the rows of old code an expiry.
func (w *sweep) stampAll(ctx context.Context) error {
	for {
		n, err := w.s.stamp(context.WithoutCancel(ctx), stampBatch)
		if err != nil || n == 0 {
			return err
		}
		if err := w.rest(ctx, w.o.Pause); err != nil {
			return err
		}
	}
}

// batches removes batch after batch, until there is nothing left to remove.
func (w *sweep) batches(ctx context.Context) error {
	for size, failed := w.o.Batch, 0; ; {
		b, took, err := w.batch(ctx, size)
		switch {
		case errors.Is(err, ErrSweeping):
			return err
		case err != nil:
			if failed++; failed == batchTries {
				return err
			}
			size, took = b.less(err), 0
		case b.rows == 0:
			return nil
		default:
			failed = 0
			size = w.sized(size, len(b.picked), took)
		}
		if err := w.rest(ctx, max(w.o.Pause, took)); err != nil {
			return err
		}
	}
}

// batch removes one, and tells how long it took once it had a connection, and on
// SQLite its turn.
func (w *sweep) batch(ctx context.Context, size int) (*batch, time.Duration, error) {
	b := &batch{limit: size, older: w.o.OlderThan, floor: w.floor, held: w.held, turn: &w.turn}
	err := w.aside(ctx, func(ctx context.Context, tx *sql.Tx, e *engine) error { return b.do(ctx, tx, e) })
	took := time.Since(b.begun)
	if err != nil {
		return b, took, err
	}
	w.floor = b.floor
	w.done.Rows += b.rows
	if b.rows > 0 {
		w.done.Batches++
		if w.o.Progress != nil {
			w.o.Progress(w.done)
		}
	}
	return b, took, nil
}

// How long a batch should take: claims of the rows in it, and on SQLite all
// claims, wait for its end.
const (
	sweepAim      = 100 * time.Millisecond
	sweepAimAlone = 5 * time.Millisecond // where it keeps every writer waiting
	sweepLeast    = 50                   // rows: with fewer, a slow disk would make it endless
)

// sized is the size of the next batch, after one of so many rows.
func (w *sweep) sized(size, picked int, took time.Duration) int {
	aim := sweepAim
	if w.s.d == SQLite {
		aim = sweepAimAlone
	}
	switch {
	case took > aim:
		return max(size*3/4, min(size, sweepLeast))
	case took < aim/2 && picked == size:
		return min(size+size/4+1, 5*w.o.Batch)
	}
	return size
}

// rest waits, unless ctx ends.
func (w *sweep) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Expired counts, without a lock, the rows that have expired for longer than
// olderThan, which Sweep would remove. It counts at most most of them; more says
// that there may be more.
func (s *Store) Expired(ctx context.Context, olderThan time.Duration, most int) (n int, more bool, err error) {
	e, err := s.engine(ctx, s.db)
	if err != nil {
		return 0, false, err
	}
	if err := s.db.QueryRowContext(ctx, e.clean.count, olderThan.Microseconds(), most).Scan(&n); err != nil {
		return 0, false, fmt.Errorf("nebis: count what has expired: %w", err)
	}
	return n, n >= most, nil
}

// LastSweep returns what the last Sweep did that came to its end, and when that
// was, by the database's clock. A zero time: none has yet.
func (s *Store) LastSweep(ctx context.Context) (done Swept, at time.Time, err error) {
	entry, err := s.Look(ctx, "nebis.sweep", Anyone, "sweep")
	if err != nil || entry == nil || entry.Response == nil {
		return Swept{}, time.Time{}, err
	}
	if err := json.Unmarshal(entry.Response, &done); err != nil {
		return Swept{}, time.Time{}, fmt.Errorf("nebis: the last sweep: %w", err)
	}
	return done, entry.UpdatedAt, nil
}

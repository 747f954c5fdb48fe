package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Lease runs fn once for the operation op, for work that leaves the database: a
// remote call, a file. It cannot be rolled back, so the promise is less than
// that of [Do]: one holder at a time, and an outcome that nobody knows is told
// as unknown and never tried again blindly.
//
// The key is claimed in a short transaction of its own, for the lease's length;
// while fn runs, its lease is extended. fn's context ends when the lease does,
// measured from before the claim was sent: a holder that was paused, or cut off
// from the database, should stop then, but can still act. So the other side
// should honour the key, too.
//
// fn returns nil: its result is saved and replayed. It returns an error made by
// [NotDone]: nothing happened outside, the key is free, and the error inside
// comes back as it is. Anything else (another error, a panic, a process that
// dies) is unknown: this call and all later ones return ErrUnknown, until
// Verify, or a person, has found out what became of it.
//
// Errors, besides NotDone's: [ErrKey], [ErrInProgress], [ErrMismatch],
// [ErrNotKept], [ErrBusy], [ErrNotCommitted] (fn has not run), [ErrUnknown],
// [ErrLost], and the database's when it is out of reach before anything ran. A
// context that has ended is an error before any SQL.
func Lease[T any](ctx context.Context, s *Store, op Op, o *LeaseOptions[T], fn func(ctx context.Context) (T, error)) (result T, replayed bool, err error) {
	var first T
	encoded := func(v T, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return recode(v, &first)
	}
	l := leasing{run: func(ctx context.Context) ([]byte, error) { return encoded(fn(ctx)) }}
	if o != nil {
		l.length = o.Length
		if o.Verify != nil {
			l.verify = func(ctx context.Context) (Verdict, []byte, error) {
				verdict, v, err := o.Verify(ctx)
				if err != nil || verdict != Happened {
					return verdict, nil, err
				}
				raw, err := recode(v, &first)
				return verdict, raw, err
			}
		}
	}
	raw, replayed, err := s.leased(ctx, op, l)
	if err != nil {
		return result, false, err
	}
	if !replayed {
		return first, false, nil
	}
	return decode[T](raw)
}

// LeaseOptions are what a leased operation does differently from the defaults.
type LeaseOptions[T any] struct {
	// Length is how long a holder that has gone silent keeps the key. Defaults to
	// 60 seconds; at least a millisecond. A holder that lives extends its lease
	// every third of it.
	Length time.Duration

	// Verify finds out whether an operation of unknown outcome has happened: it asks
	// the other side. One caller at a time does so, holding the key, and its
	// context ends as fn's does. Happened: its result is saved and replayed.
	// DidNotHappen: fn runs. CannotTell, or an error: the outcome stays unknown.
	// Without Verify it stays unknown until a person resolves it.
	Verify func(ctx context.Context) (Verdict, T, error)
}

// Verdict is what Verify found out.
type Verdict int

// The verdicts.
const (
	CannotTell   Verdict = iota // it may or may not have happened
	Happened                    // it has happened, with the result that is returned
	DidNotHappen                // it has not, and never will
)

// DefaultLease is a lease's length where none is given.
const DefaultLease = 60 * time.Second

// NotDone says that the work of a lease did not happen, and never will: the key
// is free again. The caller of [Lease] gets err as it is.
func NotDone(err error) error {
	if err == nil {
		err = errNotDone
	}
	return notDone{err}
}

type notDone struct{ error }

func (n notDone) Unwrap() error { return n.error }

var (
	errNotDone      = errors.New("nebis: not done")
	errLeaseRecheck = errors.New("nebis: Lease cannot ask Op.Recheck, which needs a transaction")
)

// leasing is what a lease does, on encoded results.
type leasing struct {
	length time.Duration
	run    func(context.Context) ([]byte, error)
	verify func(context.Context) (Verdict, []byte, error)
}

func (l *leasing) check(ctx context.Context, op Op) error {
	orDefault(&l.length, DefaultLease)
	switch {
	case l.length < time.Millisecond:
		return fmt.Errorf("%w: lease of %v; want a millisecond at least", ErrKey, l.length)
	case op.Recheck != nil:
		return errLeaseRecheck
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// leased is Lease on encoded results.
func (s *Store) leased(ctx context.Context, op Op, l leasing) (raw []byte, replayed bool, err error) {
	c, err := s.newCall(op)
	defer func() { c.observe(ctx, err) }()
	if err == nil {
		err = l.check(ctx, op)
	}
	if err == nil {
		err = c.nested(ctx)
	}
	if err != nil {
		return nil, false, err
	}
	f, r, err := s.fs.join(ctx, c.key(), s.o.MaxWaiters, c.left())
	switch {
	case err != nil:
		return nil, false, err
	case f == nil:
		c.ev.Outcome = ReplayedMemory
		raw, err = c.answer(r)
		return raw, err == nil, err
	}
	defer func() { s.fs.leave(c.key(), f, r) }()
	c.ev.Outcome = Unknown // should the function not return
	var ran bool
	if r, ran, err = c.leadLease(ctx, l); err != nil {
		return nil, false, err
	}
	s.done.add(c.key())
	if ran {
		return nil, false, nil
	}
	c.ev.Outcome = ReplayedTable
	raw, err = c.answer(r)
	return raw, err == nil, err
}

// leadLease does the operation, or finds the row of the one who did.
func (c *call) leadLease(ctx context.Context, l leasing) (*row, bool, error) {
	r := c.lookFirst(ctx)
	for n := 0; n < c.s.o.MaxClaims; n++ {
		if r == nil {
			t, seen, err := c.claimLease(ctx, l)
			if err != nil {
				return nil, false, err
			}
			if t != nil {
				return c.serve(t, l, seen != nil)
			}
			r = seen
		}
		switch {
		case r.lease == 1 && c.left() > 0:
			r = c.awaitLease(ctx, r)
			n--
		case r.status == "done" || r.lease != 2 || l.verify == nil:
			return c.settled(r)
		case !sameAsk(r.fingerprint, c.op.Fingerprint):
			return nil, false, ErrMismatch
		default:
			t, err := c.adopt(ctx, l, r)
			if err != nil {
				return nil, false, err
			}
			if t != nil {
				return c.verified(t, l)
			}
			r = nil // somebody else is finding out
		}
		if err := ctx.Err(); err != nil {
			return nil, false, context.Cause(ctx)
		}
	}
	return nil, false, fmt.Errorf("%w: %w", ErrBusy, errTurmoil)
}

// claimLease claims the key for a tenure, or returns the row that is in the way.
// With a tenure, the row is the one that was taken over, if any.
func (c *call) claimLease(ctx context.Context, l leasing) (*tenure, *row, error) {
	begun := time.Now()
	x, r, err := c.acquire(ctx, c.token, "")
	if err != nil || x == nil {
		return nil, r, err
	}
	if err := c.grant(ctx, x, l.length); err != nil {
		return nil, nil, err
	}
	return c.newTenure(ctx, begun, l.length), r, nil
}

// grant gives the session's claim its lease and commits.
func (c *call) grant(ctx context.Context, x *session, length time.Duration) error {
	defer x.close()
	if !x.detach() {
		return context.Cause(ctx)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	defer cancel()
	err := x.grant(late, length, c.op, c.token)
	if err == nil {
		err = x.commit()
	}
	if err == nil {
		return nil
	}
	x.rollback()
	x.closeEarly()
	return c.settleGrant(ctx, fmt.Errorf("nebis: lease: %w", redacted{err, c.op}))
}

// settleGrant asks the table whether a claim whose commit failed is there after
// all. Whatever it says, nothing has run yet.
func (c *call) settleGrant(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	defer cancel()
	r, err := readRow(ctx, c.s.db, c.s.eng.Load().read, c.op)
	if err == nil && r != nil && r.token == c.token && r.lease == 1 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNotCommitted, cause)
}

// awaitLease looks at a row whose lease runs until that has changed or the wait
// is used up. Nil: the claim tells.
func (c *call) awaitLease(ctx context.Context, r *row) *row {
	for d := 20 * time.Millisecond; r != nil && r.lease == 1 && c.left() > 0; d = min(2*d, time.Second/4) {
		timer := time.NewTimer(min(d, c.left()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		now, err := readRow(ctx, c.s.db, c.s.eng.Load().read, c.op)
		if err != nil {
			return nil
		}
		if r = now; r != nil && r.free {
			return nil
		}
	}
	return r
}

// adopt takes a row whose lease is over, if it still is as it was seen. Nil: it
// is not.
func (c *call) adopt(ctx context.Context, l leasing, r *row) (*tenure, error) {
	begun := time.Now()
	op := c.op
	n, err := c.update(ctx, c.s.eng.Load().lease.adopt, c.token, l.length.Microseconds(), op.Key, op.Scope, op.Owner, r.token)
	if err == nil && n == 1 {
		return c.newTenure(ctx, begun, l.length), nil
	}
	now, readErr := readRow(ctx, c.s.db, c.s.eng.Load().read, op)
	switch {
	case err == nil && readErr == nil && now != nil && now.token == c.token && now.lease == 1:
		return c.newTenure(ctx, begun, l.length), nil // an update whose answer was lost
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil, nil
}

// verified has the operation's Verify find out, under the tenure, what became of
// the holder before it.
func (c *call) verified(t *tenure, l leasing) (*row, bool, error) {
	var verdict Verdict
	raw, err := t.do(func(ctx context.Context) (raw []byte, err error) {
		verdict, raw, err = l.verify(ctx)
		return raw, err
	})
	switch {
	case err == nil && verdict == Happened:
		r, err := t.end("done", raw, "")
		return r, false, err
	case err == nil && verdict == DidNotHappen:
		return c.serve(t, l, true)
	case err == nil:
		err = errors.New("nebis: verify cannot tell")
	}
	return nil, false, t.unknown(err)
}

// serve runs the function under the tenure and records what became of it.
func (c *call) serve(t *tenure, l leasing, again bool) (*row, bool, error) {
	c.ev.Waited = time.Since(c.start)
	begun := time.Now()
	defer func() { c.ev.Ran = time.Since(begun) }()
	raw, err := t.do(l.run)
	var free notDone
	switch {
	case err == nil:
		c.ev.Outcome = Ran
		if again {
			c.ev.Outcome = TookOver
		}
		r, err := t.end("done", raw, "")
		return r, true, err
	case errors.As(err, &free):
		if _, endErr := t.end("failed", nil, free.Error()); endErr != nil {
			return nil, false, fmt.Errorf("%w (not done: %w)", endErr, free.error)
		}
		c.ev.Outcome = Released
		return nil, false, free.error
	}
	return nil, false, t.unknown(err)
}

// update sends one of the lease's statements in a transaction of its own, again
// after a deadlock or a lost connection, and returns how many rows it matched.
func (c *call) update(ctx context.Context, stmt string, args ...any) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.s.o.CommitWait)
	defer cancel()
	for try := range c.s.o.MaxClaims {
		if try > 0 {
			pause(ctx, try)
		}
		if n, err = c.updateOnce(ctx, stmt, args); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("nebis: lease: %w", redacted{err, c.op})
	}
	return n, err
}

func (c *call) updateOnce(ctx context.Context, stmt string, args []any) (int64, error) {
	if c.s.d == SQLite {
		if err := c.s.takeWriter(ctx, c.s.o.CommitWait); err != nil {
			return 0, err
		}
		defer c.s.freeWriter()
	}
	tx, err := c.s.db.BeginTx(ctx, &sql.TxOptions{Isolation: c.s.o.Isolation})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, stmt, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

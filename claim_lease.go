package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// claimLease claims the key for a tenure, or returns the row that is in the way.
// With a tenure, the row is the one that was taken over, if any.
func (c *call) claimLease(ctx context.Context, l leasing) (*tenure, *row, error) {
	begun := time.Now()
	x, r, err := c.acquire(ctx, c.token, "")
	if err != nil || x == nil {
		return nil, r, err
	}
	err = c.grant(ctx, x, l.length)
	t := c.newTenure(ctx, begun, l.length)
	if err == nil {
		return t, r, nil
	}
	return c.settleGrant(t, r, err)
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
	return fmt.Errorf("nebis: lease: %w", redacted{err, c.op})
}

// settleGrant asks whether a claim whose commit failed is there after all: the
// tenure that it began, then. Nothing has run yet, whatever it finds.
func (c *call) settleGrant(t *tenure, seen *row, cause error) (*tenure, *row, error) {
	r, err := c.inquire(t.ctx)
	if err == nil && r != nil && r.token == c.token && t.ctx.Err() == nil {
		return t, seen, nil
	}
	if err == nil && r != nil && r.token == c.token { // too late, but nobody else can know that nothing ran
		_, err = t.end("failed", nil, cause.Error())
	}
	t.over.Stop()
	t.cancel(ErrLost)
	if err != nil {
		cause = fmt.Errorf("%w (asking: %w)", cause, err)
	}
	return nil, nil, fmt.Errorf("%w: %w", ErrNotCommitted, cause)
}

// awaitLease looks at a row whose lease runs, and returns it when the wait is used
// up before that has changed. Nil: it has, and the claim tells, which also makes
// sure that what it tells of is on disk.
func (c *call) awaitLease(ctx context.Context, r *row) *row {
	for d := 20 * time.Millisecond; r != nil && runs(r) && c.left() > 0; d = min(2*d, time.Second/4) {
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
		r = now
	}
	if r == nil || !runs(r) {
		return nil
	}
	return r
}

func runs(r *row) bool { return r.status == "processing" && r.lease == 1 }

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

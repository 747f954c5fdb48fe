package nebis

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Do runs fn once for the operation op and returns its result; every further
// call with the same op, within the keep time, returns the same result with
// replayed true and does not run fn.
//
// fn gets a transaction in which the key is claimed. When it returns nil, its
// result is encoded as JSON, saved, and committed with everything fn wrote. When
// it returns an error, panics or calls runtime.Goexit, all is rolled back and
// the key is free; the error comes back as it is. The first caller's result,
// too, is decoded from what was saved, so that all callers see the same.
//
// fn must leave the transaction's end to Do, must not swallow an error that
// ended it (a deadlock), and should write only through it. Its context has to
// reach a Do inside it, as is usual, or a Do of the same key there hangs instead
// of failing.
//
// Errors, besides fn's own: [ErrKey], [ErrInProgress], [ErrMismatch],
// [ErrNotKept], [ErrBusy], [ErrNotCommitted], [ErrUnknown], [ErrTxGone], and
// the database's when it is out of reach before anything ran. After any of them
// it is safe to call again with the same key.
func Do[T any](ctx context.Context, s *Store, op Op, fn func(ctx context.Context, tx *sql.Tx) (T, error)) (result T, replayed bool, err error) {
	var first T
	raw, replayed, err := s.do(ctx, op, func(ctx context.Context, tx *sql.Tx) ([]byte, error) {
		v, err := fn(ctx, tx)
		if err != nil {
			return nil, err
		}
		return recode(v, &first)
	})
	if err != nil {
		return result, false, err
	}
	if !replayed {
		return first, false, nil
	}
	return decode[T](raw)
}

// recode encodes v and decodes it into out, before the commit: what a replay
// could not read must not be committed.
func recode[T any](v T, out *T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read the table
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("nebis: encode the result: %w", err)
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("nebis: decode the result: %w", err)
	}
	return raw, nil
}

func decode[T any](raw []byte) (v T, replayed bool, err error) {
	if err := json.Unmarshal(raw, &v); err != nil {
		var zero T
		return zero, false, fmt.Errorf("%w: it does not decode: %w", ErrNotKept, err)
	}
	return v, true, nil
}

// do is Do on encoded results. On a replay, raw is the saved result.
func (s *Store) do(ctx context.Context, op Op, fn func(context.Context, *sql.Tx) ([]byte, error)) (raw []byte, replayed bool, err error) {
	c, err := s.newCall(op)
	defer func() { c.observe(ctx, err) }()
	if err != nil {
		return nil, false, err
	}
	if err := c.nested(ctx); err != nil {
		return nil, false, err
	}
	f, r, err := s.fs.join(ctx, c)
	switch {
	case err != nil:
		return nil, false, err
	case f == nil:
		c.ev.Outcome = ReplayedMemory
		raw, err = c.answer(r)
		return raw, err == nil, err
	}
	defer func() { s.fs.leave(c.key(), f, r) }()
	c.ev.Outcome = Released // should fn not return
	var ran bool
	if r, ran, err = c.lead(ctx, fn); err != nil {
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

// lead does the operation, or finds the row of the one who did.
func (c *call) lead(ctx context.Context, fn func(context.Context, *sql.Tx) ([]byte, error)) (r *row, ran bool, err error) {
	var x *session
	if r = c.lookFirst(ctx); r == nil {
		if x, r, err = c.acquire(ctx, c.token, ""); err != nil {
			return nil, false, err
		}
	}
	for n := 0; x == nil && c.mayRecheck(r); n++ {
		if n == c.s.o.MaxClaims {
			return nil, false, fmt.Errorf("%w: %w", ErrBusy, errTurmoil)
		}
		asked := r
		if x, r, err = c.recheck(ctx, asked); err != nil {
			return nil, false, err
		}
		if r == asked {
			break
		}
	}
	if x == nil {
		return c.settled(r)
	}
	defer x.close()
	c.ev.Waited = time.Since(c.start)
	raw, err := c.run(ctx, x, fn)
	if err != nil {
		return nil, false, c.release(ctx, x, err)
	}
	c.ev.Outcome = Ran
	if r != nil {
		c.ev.Outcome = TookOver
	}
	return c.finish(ctx, x, raw)
}

// run runs the function with a context that knows which key is held.
func (c *call) run(ctx context.Context, x *session, fn func(context.Context, *sql.Tx) ([]byte, error)) ([]byte, error) {
	begun := time.Now()
	defer func() { c.ev.Ran = time.Since(begun) }()
	raw, err := fn(c.holding(ctx, x.conn), x.tx)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return raw, err
}

// release rolls back for a function that failed with err, and makes sure that
// there was something to roll back.
func (c *call) release(ctx context.Context, x *session, err error) error {
	whole := x.rollback() || ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	defer cancel()
	var r *row
	var readErr error
	if x.broken {
		x.close() // the look must not wait for its connection
		r, readErr = readRow(ctx, c.s.db, x.e.read, c.op)
	} else {
		r, readErr = readRow(ctx, x.conn, x.e.read, c.op)
	}
	switch {
	case readErr == nil && r != nil && r.token == c.token:
		return fmt.Errorf("%w: %w: ended by hand: %w", ErrUnknown, ErrTxGone, err)
	case whole:
		return err
	case readErr != nil:
		return fmt.Errorf("%w: %w: %w", ErrUnknown, ErrTxGone, err)
	}
	return fmt.Errorf("%w: %w: %w", ErrNotCommitted, ErrTxGone, err)
}

// finish saves and commits. The row that it returns serves those who wait.
func (c *call) finish(ctx context.Context, x *session, raw []byte) (*row, bool, error) {
	r := &row{status: "done", fingerprint: c.op.Fingerprint, token: c.token, at: time.Now()}
	if len(raw) <= c.op.MaxResponse {
		r.response = sql.NullString{String: string(raw), Valid: true}
	}
	if !x.detach() {
		return nil, false, c.release(ctx, x, context.Cause(ctx))
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	defer cancel()
	if err := x.save(late, r.response, c.op, c.token); err != nil {
		return c.saveFailed(ctx, x, err, r)
	}
	if err := x.commit(); err != nil {
		x.closeEarly()
		return c.settle(ctx, fmt.Errorf("nebis: commit: %w", err), true, r)
	}
	return r, true, nil
}

// saveFailed finds out whether the transaction was lost under the function, then
// rolls back what can be.
func (c *call) saveFailed(ctx context.Context, x *session, cause error, mine *row) (*row, bool, error) {
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	r, err := readRow(ask, x.tx, x.e.read, c.op)
	cancel()
	if err != nil && ended(cause) || err == nil && (r == nil || r.token != c.token) {
		cause = fmt.Errorf("%w: %w", ErrTxGone, redacted{cause, c.op})
	} else {
		cause = fmt.Errorf("nebis: save: %w", redacted{cause, c.op})
	}
	sent := x.e.saveCommits
	x.rollback()
	x.closeEarly()
	return c.settle(ctx, cause, sent, mine)
}

// ended reports whether a save failed because the transaction had ended, or had
// been aborted by an earlier statement, which is how PostgreSQL says it. MySQL and
// MariaDB say that the savepoint is not there; at SERIALIZABLE the read that would
// tell may be kept waiting by the key's next holder.
func ended(err error) bool {
	var state interface{ SQLState() string }
	return errors.Is(err, sql.ErrTxDone) || noSavepoint.MatchString(err.Error()) ||
		errors.As(err, &state) && state.SQLState() == "25P02"
}

var noSavepoint = regexp.MustCompile(`^Error 1305\b`)

// inquire claims the key again to learn what became of a commit that failed: the
// row that is there, or nil when nothing was committed. A claim waits for a
// transaction that is still alive on the server; a plain read would not.
func (c *call) inquire(ctx context.Context) (*row, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.CommitWait)
	defer cancel()
	c.deadline = time.Now().Add(c.s.o.CommitWait)
	x, r, err := c.acquire(ctx, rand.Text(), c.token)
	if x == nil {
		return r, err
	}
	x.close()
	return nil, nil
}

// settle tells what became of a commit that failed. sent: it may have reached the
// server.
func (c *call) settle(ctx context.Context, cause error, sent bool, mine *row) (*row, bool, error) {
	r, err := c.inquire(ctx)
	switch {
	case err != nil && sent:
		return nil, false, fmt.Errorf("%w: %w (asking: %w)", ErrUnknown, cause, err)
	case err != nil || r == nil:
		return nil, false, fmt.Errorf("%w: %w", ErrNotCommitted, cause)
	case r.token == c.token && r.status == "done":
		return mine, true, nil
	case r.token == c.token:
		return nil, false, fmt.Errorf("%w: %w: ended by hand: %w", ErrUnknown, ErrTxGone, cause)
	case errors.Is(cause, ErrTxGone):
		// Somebody else has done it since; the function's mistake is told all the same.
		return nil, false, fmt.Errorf("%w: %w", ErrNotCommitted, cause)
	}
	return c.settled(r)
}

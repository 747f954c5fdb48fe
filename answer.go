package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// settled says what a row that was there before means for this call: a row to
// answer from, or an error.
func (c *call) settled(r *row) (*row, bool, error) {
	switch {
	case r.status == "done":
		return r, false, nil
	case r.lease == 1 || r.token == "":
		return nil, false, ErrInProgress
	case r.lease == 2:
		return nil, false, fmt.Errorf("%w: the lease is over", ErrUnknown)
	}
	// Do's own rows are seen by others only when they are done.
	return nil, false, fmt.Errorf("%w: %w: the first run ended its transaction by hand", ErrUnknown, ErrTxGone)
}

// answer takes the stored answer from a row that is done.
func (c *call) answer(r *row) ([]byte, error) {
	switch {
	case r.token != "" && !sameAsk(r.fingerprint, c.op.Fingerprint):
		return nil, ErrMismatch
	case r.token == "" || !r.response.Valid:
		return nil, ErrNotKept // a row of old code, whose owner is not known; too large, or gone before its key
	}
	return []byte(r.response.String), nil
}

// mayRecheck reports whether the operation is to be asked about a row: not about
// one that this call could not replay.
func (c *call) mayRecheck(r *row) bool {
	if c.op.Recheck == nil || r.status != "done" {
		return false
	}
	_, err := c.answer(r)
	return err == nil
}

// recheck takes the row r over and asks the operation whether its answer still
// holds. It returns a session when the operation is to run again, the row to
// replay when not.
func (c *call) recheck(ctx context.Context, r *row) (*session, *row, error) {
	x, now, err := c.lockRow(ctx, r)
	if x == nil || now != r {
		return x, now, err
	}
	again := false
	defer func() {
		if !again {
			x.close()
		}
	}()
	replay, err := c.op.Recheck(c.holding(ctx, x.conn), x.tx, []byte(r.response.String))
	if err != nil || replay {
		return nil, r, err
	}
	again = true
	return x, r, nil
}

// lockRow takes the row r over, waiting for others that look at it. When it has
// changed meanwhile, it claims as if for the first time.
func (c *call) lockRow(ctx context.Context, r *row) (*session, *row, error) {
	for n := range c.s.o.MaxClaims {
		x, now, err := c.try(ctx, c.token, r, n)
		switch {
		case x != nil:
			return x, r, nil
		case !errors.As(err, new(lostClaim)):
			return nil, nil, err
		case now == nil || now.token != r.token:
			return c.acquire(ctx, c.token, "")
		case n > 0 && c.left() <= 0:
			return nil, nil, ErrInProgress
		}
	}
	return nil, nil, fmt.Errorf("%w: the row is looked at by many", ErrBusy)
}

// observe reports the end of the call. err nil with the outcome Released means
// that the function did not return.
func (c *call) observe(ctx context.Context, err error) {
	if c.s.o.Observe == nil {
		return
	}
	ev := c.ev
	ev.Err = err
	if ev.Waited == 0 {
		ev.Waited = time.Since(c.start)
	}
	if err != nil {
		ev.Outcome = outcomeOf(err, ev.Ran > 0)
	}
	c.s.o.Observe(ctx, ev)
}

func outcomeOf(err error, ran bool) Outcome {
	for _, o := range []struct {
		err error
		out Outcome
	}{
		{ErrNotCommitted, Failed}, {ErrUnknown, Unknown}, {ErrTxGone, Lost}, {ErrLost, Lost}, {ErrInProgress, InProgress},
		{ErrMismatch, Mismatch}, {ErrNotKept, NotKept}, {ErrBusy, Failed}, {ErrKey, Failed},
	} {
		if errors.Is(err, o.err) {
			return o.out
		}
	}
	if ran {
		return Released
	}
	return Failed
}

// held is a key that the goroutines below a context hold.
type held struct {
	s      *Store
	key    flightKey
	conn   *sql.Conn // nil in DoTx
	parent *held
}

type heldKey struct{}

func (c *call) holding(ctx context.Context, conn *sql.Conn) context.Context {
	return context.WithValue(ctx, heldKey{}, &held{c.s, c.key(), conn, holder(ctx)})
}

var (
	errNestedKey    = errors.New("nebis: Do inside a Do of the same key")
	errNestedWriter = errors.New("nebis: Do inside a Do on SQLite, which has one writer; DoTx takes the transaction that is there")
)

// nested refuses a call that would wait for its own caller.
func (c *call) nested(ctx context.Context) error {
	for h := holder(ctx); h != nil; h = h.parent {
		switch {
		case h.s == c.s && h.key == c.key():
			return errNestedKey
		case h.s == c.s && c.s.d == SQLite && h.conn != nil:
			return errNestedWriter
		}
	}
	return nil
}

func holder(ctx context.Context) *held {
	h, _ := ctx.Value(heldKey{}).(*held)
	return h
}

// Conn returns the connection that the transaction of the surrounding Do runs
// on. Its Raw reaches the driver, for what database/sql cannot do; it must not
// end the transaction, nor may the connection be closed. False outside of Do.
func Conn(ctx context.Context) (*sql.Conn, bool) {
	h := holder(ctx)
	if h == nil || h.conn == nil {
		return nil, false
	}
	return h.conn, true
}

package nebis

import (
	"context"
	"fmt"
	"time"
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
		case runs(r) && c.left() > 0:
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

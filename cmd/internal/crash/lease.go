package crash

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nebis-dev/nebis"
)

func leaseOptions(length time.Duration) *nebis.LeaseOptions[order] {
	return &nebis.LeaseOptions[order]{Length: length}
}

// found is a Verify that has found this order on the other side.
func found(o order) *nebis.LeaseOptions[order] {
	return &nebis.LeaseOptions[order]{Verify: func(context.Context) (nebis.Verdict, order, error) { return nebis.Happened, o, nil }}
}

// tryLease calls Lease once, without waiting. at is called inside the function,
// and may stop it.
func tryLease(ctx context.Context, s *nebis.Store, key string, opts *nebis.LeaseOptions[order], at func(context.Context)) attempt {
	a := attempt{Key: key}
	op := nebis.Op{Scope: "order", Owner: "user-1", Key: key, Fingerprint: nebis.Digest(key), Wait: -1}
	var cause, err error
	a.Order, a.Replayed, err = nebis.Lease(ctx, s, op, opts, func(ctx context.Context) (order, error) {
		o := order{key, rand.Text()}
		a.Runs = append(a.Runs, o.Run)
		at(ctx)
		cause = context.Cause(ctx)
		return o, nil // it acts all the same
	})
	a.Happened, a.cause = verdictOf(err), err
	a.Lost = errors.Is(err, nebis.ErrLost) && errors.Is(cause, nebis.ErrLost)
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

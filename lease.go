package nebis

import (
	"context"
	"errors"
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

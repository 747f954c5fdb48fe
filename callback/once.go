package callback

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/nebis-dev/nebis"
)

// ErrMoved says that the statement has changed more than one row, so its condition does not
// name one business. Return it, and all of it is rolled back.
var ErrMoved = errors.New("callback: more than one row has changed state")

// ErrNoPayment says that an event has no Payment, so that [Once] cannot tell it from
// any other: fill it in from the body, or use nebis.DoTx with a key of your own.
var ErrNoPayment = errors.New("callback: the event names no payment")

// ErrNoRefund says that an event tells of a refund and has no Refund, so that a second
// refund of the payment would be taken for it. Fill it in from the body: with the
// provider's number of the refund, or with the sum refunded so far, which grows with
// each. The amount of this refund alone is none: two refunds may have the same. Where a
// payment is only ever refunded whole, any constant will do.
var ErrNoRefund = errors.New("callback: the event tells of a refund, and not of which")

// Moved tells whether a guarded change of state has found its row in the state that
// it names, wrapped around the statement:
//
//	moved, err := callback.Moved(tx.ExecContext(ctx,
//		`UPDATE orders SET status = 'paid' WHERE number = ? AND status = 'pending'`, e.Order))
//
// False without an error is a notice that came late or twice: there is nothing to do.
// The statement must change the state it names, or MySQL says of both cases alike
// that no row was changed.
func Moved(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	switch {
	case err != nil:
		return false, fmt.Errorf("callback: how many rows were changed: %w", err)
	case n > 1:
		return false, fmt.Errorf("%w: %d", ErrMoved, n)
	}
	return n == 1, nil
}

// Once runs fn in tx unless the same business was done before: by another notice, or
// by the page that the customer comes back to, which calls it in a transaction of its
// own, see [nebis.Store.Tx]. It returns whether fn ran. When both come at once one
// waits for the other's transaction to end. On a server one of them may lose its
// transaction to a deadlock instead ([nebis.ErrTxGone]): all of it is rolled back.
// [Handler] runs again by itself; a page begins its transaction anew.
//
// Scope names what is done ("points"), e says for what; fn's error leaves the business
// undone and is returned. The mark stays for [Keep], or for the Store's KeepSeen where
// that is longer. [ErrNoPayment], [ErrNoRefund]: e does not say for what, and nothing
// was done.
func Once(ctx context.Context, s *nebis.Store, tx *sql.Tx, scope string, e Event, fn func(ctx context.Context) error) (bool, error) {
	business := e.Business()
	switch {
	case e.Payment == "":
		return false, ErrNoPayment
	case business == "":
		return false, ErrNoRefund
	}
	op := nebis.Op{Scope: scope, Owner: owner(e.Account), Key: shaped(business), Keep: Keep}
	ran := false
	_, replayed, err := nebis.DoTx(ctx, s, tx, op, func(ctx context.Context) (struct{}, error) {
		ran = true
		return struct{}{}, fn(ctx)
	})
	if !ran && errors.Is(err, nebis.ErrNotKept) { // done, longer ago than Keep
		return false, nil
	}
	return err == nil && !replayed, err
}

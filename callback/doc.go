// Package callback receives what payment services and other providers send to a
// site by themselves, once, though they send it again until it is acknowledged.
//
//	mux.Handle("POST /callbacks/alipay", callback.Handler(store, callback.Alipay(appID, key),
//		func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
//			if e.State != callback.Paid {
//				return nil
//			}
//			moved, err := callback.Moved(tx.ExecContext(ctx,
//				`UPDATE orders SET status = 'paid' WHERE number = ? AND status = 'pending'`, e.Order))
//			if err != nil || !moved {
//				return err
//			}
//			return givePoints(ctx, tx, e.Order)
//		}, nil))
//
// Nothing is recorded before the signature holds. Then the delivery is claimed, the
// function runs and the acknowledgement is stored in one transaction, by [nebis.Do]:
// a second delivery gets the first acknowledgement, byte for byte. One whose function
// fails is not acknowledged and leaves the key free, so that the provider's next try
// runs it again; what failed is kept, see [Failures].
//
// # Three layers
//
// One identity is not enough, since providers send several notices about one payment:
//
//  1. The delivery: [Handler] uses [Event].Delivery as the key.
//  2. The business: [Once] with [Event.Business], which the page that the customer
//     comes back to uses as well, so that either of them completes the order.
//  3. The state of the row: [Moved] around an UPDATE that names the state it expects.
//     It is right even when notices arrive out of order, and it is the one that must
//     not be left out.
//
// There is no fingerprint: times, signatures and ciphertext differ between two
// deliveries of one notice.
package callback

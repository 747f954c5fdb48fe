package shop

import (
	"context"
	"database/sql"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

// The status of an order says how far it is. It changes by [Shop.move] alone:
//
//	accepted → paid → picked-up
//	accepted → cancelled → refunding, where the money comes late
//	paid → refunding → refunded, or credited where the money cannot be sent back
const (
	accepted  = "accepted"
	paid      = "paid"
	pickedUp  = "picked-up"
	cancelled = "cancelled"
	refunding = "refunding"
	refunded  = "refunded"
	credited  = "credited"
)

// move changes the status of an order that is in the status from, and tells whether
// it was.
func (s *Shop) move(ctx context.Context, tx *sql.Tx, id int64, from, to string) (bool, error) {
	return callback.Moved(tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_orders SET status = ? WHERE id = ? AND status = ?`), to, id, from))
}

// An event is something that has happened to an order: written in the transaction
// that does it, and at most once of each kind.
type event struct {
	Kind string
	N    int64 // points, or the id of a call
	At   time.Time
}

// The kinds of events that are no status.
const (
	paidLate        = "paid-late"
	couponAdded     = "coupon-call" // N: the call
	couponGiven     = "coupon"
	noCoupon        = "no-coupon" // N: the points in its place
	refundAdded     = "refund-call"
	withdrawAdded   = "withdraw-call"
	couponWithdrawn = "withdrawn"
)

func (s *Shop) record(ctx context.Context, tx *sql.Tx, id int64, kind string, n int64) error {
	_, err := tx.ExecContext(ctx, s.sql.q(s.sql.addEvent), id, kind, n, time.Now().UnixMicro())
	return err
}

// events reads what has happened to an order, in that order.
func (s *Shop) events(ctx context.Context, id int64) ([]event, error) {
	rows, err := s.db.QueryContext(ctx, s.sql.q(`SELECT kind, n, at_us FROM nebis_demo_events WHERE order_id = ? ORDER BY at_us, kind`), id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []event
	for rows.Next() {
		var e event
		var us int64
		if err := rows.Scan(&e.Kind, &e.N, &us); err != nil {
			return nil, err
		}
		e.At = time.UnixMicro(us)
		list = append(list, e)
	}
	return list, rows.Err()
}

// give gives a visitor points, or takes some back.
func (s *Shop) give(ctx context.Context, tx *sql.Tx, visitor string, points int64) error {
	_, err := tx.ExecContext(ctx, s.sql.q(s.sql.addPoints), visitor, points)
	return err
}

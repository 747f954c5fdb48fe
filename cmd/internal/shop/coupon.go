package shop

import (
	"context"
	"database/sql"

	"github.com/nebis-dev/nebis/callback"
)

// The coupon of an order that was paid has a state of its own, for it comes later than
// the payment, and the order may have been cancelled by then. It changes by
// [Shop.moveCoupon] alone:
//
//	awaited → given → withdrawn
//	awaited → missed → withdrawn: the points in its place
//	awaited → unwanted → withdrawn: it comes after the order was cancelled
const (
	awaited   = "awaited"
	given     = "given"
	missed    = "missed"
	unwanted  = "unwanted"
	withdrawn = "withdrawn"
)

// insteadOfCoupon are the points in the place of a coupon that is not to be had.
const insteadOfCoupon = 30

func (s *Shop) moveCoupon(ctx context.Context, tx *sql.Tx, id int64, from, to string) (bool, error) {
	return callback.Moved(tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_coupons SET state = ? WHERE order_id = ? AND state = ?`), to, id, from))
}

// askForCoupon has the coupon asked for after the commit.
func (s *Shop) askForCoupon(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.ExecContext(ctx, s.sql.q(`INSERT INTO nebis_demo_coupons (order_id, state) VALUES (?, ?)`), id, awaited)
	if err != nil {
		return err
	}
	return s.addCall(ctx, tx, couponAdded, errand{Order: id})
}

// couponCame: the service has given a coupon. Nobody wants it where the order was
// cancelled meanwhile.
func (s *Shop) couponCame(ctx context.Context, tx *sql.Tx, e errand) error {
	moved, err := s.moveCoupon(ctx, tx, e.Order, awaited, given)
	if err != nil {
		return err
	}
	if moved {
		return s.record(ctx, tx, e.Order, couponGiven, 0)
	}
	moved, err = s.moveCoupon(ctx, tx, e.Order, unwanted, withdrawn)
	if err != nil || !moved {
		return err
	}
	return s.addCall(ctx, tx, withdrawAdded, errand{Order: e.Order})
}

// noCouponCame is the compensation: points in the coupon's place.
func (s *Shop) noCouponCame(ctx context.Context, tx *sql.Tx, e errand) error {
	moved, err := s.moveCoupon(ctx, tx, e.Order, awaited, missed)
	if err != nil || !moved {
		return err
	}
	o, err := s.findIn(ctx, tx, e.Order)
	if err != nil {
		return err
	}
	if err := s.give(ctx, tx, o.Visitor, insteadOfCoupon); err != nil {
		return err
	}
	return s.record(ctx, tx, e.Order, noCoupon, insteadOfCoupon)
}

// takeCouponBack takes back what became of the coupon, and returns what that was. It
// begins with what can still change: looked at last, a coupon that comes at this moment
// would be none of the three.
func (s *Shop) takeCouponBack(ctx context.Context, tx *sql.Tx, id int64) (was string, err error) {
	for _, change := range [][2]string{{awaited, unwanted}, {given, withdrawn}, {missed, withdrawn}} {
		moved, err := s.moveCoupon(ctx, tx, id, change[0], change[1])
		if err != nil || moved {
			return change[0], err
		}
	}
	return "", nil
}

// couponGone: the service has taken the coupon back.
func (s *Shop) couponGone(ctx context.Context, tx *sql.Tx, e errand) error {
	return s.record(ctx, tx, e.Order, couponWithdrawn, 0)
}

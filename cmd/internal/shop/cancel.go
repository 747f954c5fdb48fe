package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/nebis-dev/nebis/nebishttp"
)

// cancel takes a visitor's own order back. The key is the order's, and the change of
// status has a condition: two tabs, or a callback at the same moment, do no harm.
func (s *Shop) cancel(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	o, err := s.orderOf(r)
	switch {
	case errors.Is(err, errNoOrder), err == nil && o.Visitor != visitorOf(r):
		s.message(w, r, http.StatusNotFound, "none", "none_say")
		return nil
	case err != nil:
		return err
	}
	if mood := r.PostFormValue(refundService); slices.Contains(moods, mood) {
		if err := s.tellService(r.Context(), tx, o.ID, refundService, mood); err != nil {
			return err
		}
	}
	if err := s.undo(r.Context(), tx, o); err != nil {
		return err
	}
	nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d/life", o.ID))
	return nil
}

// undo cancels an order, paid or not, with all that was given for it. An order that is
// neither accepted nor paid any more stays as it is.
func (s *Shop) undo(ctx context.Context, tx *sql.Tx, o record) error {
	moved, err := s.move(ctx, tx, o.ID, accepted, cancelled)
	if err != nil {
		return err
	}
	if moved {
		return s.takeBack(ctx, tx, o, int64(o.Points))
	}
	moved, err = s.move(ctx, tx, o.ID, paid, refunding)
	if err != nil || !moved {
		return err
	}
	return s.undoPaid(ctx, tx, o)
}

// undoPaid takes back what paying has given as well. The money and the coupon are with
// others, who are asked after the commit.
func (s *Shop) undoPaid(ctx context.Context, tx *sql.Tx, o record) error {
	coupon, err := s.takeCouponBack(ctx, tx, o.ID)
	if err != nil {
		return err
	}
	points := int64(o.Points) + bonus(o.order)
	if coupon == missed {
		points += insteadOfCoupon
	}
	if err := s.takeBack(ctx, tx, o, points); err != nil {
		return err
	}
	if coupon == given {
		if err := s.addCall(ctx, tx, withdrawAdded, errand{Order: o.ID}); err != nil {
			return err
		}
	}
	return s.addCall(ctx, tx, refundAdded, errand{o.ID, o.Cents()})
}

// takeBack puts the goods back on the shelf and takes the points.
func (s *Shop) takeBack(ctx context.Context, tx *sql.Tx, o record, points int64) error {
	_, err := tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_goods SET stock = stock + ?, sold = sold - ? WHERE code = ?`), o.Qty, o.Qty, o.Item)
	if err != nil {
		return err
	}
	if err := s.give(ctx, tx, o.Visitor, -points); err != nil {
		return err
	}
	return s.record(ctx, tx, o.ID, cancelled, points)
}

// refundDone: the money is on its way back.
func (s *Shop) refundDone(ctx context.Context, tx *sql.Tx, e errand) error {
	moved, err := s.move(ctx, tx, e.Order, refunding, refunded)
	if err != nil || !moved {
		return err
	}
	return s.record(ctx, tx, e.Order, refunded, e.Cents)
}

// pointsPerYuan is what money is worth that cannot be sent back.
const pointsPerYuan = 10

// refundFailed is the compensation: the money becomes points.
func (s *Shop) refundFailed(ctx context.Context, tx *sql.Tx, e errand) error {
	moved, err := s.move(ctx, tx, e.Order, refunding, credited)
	if err != nil || !moved {
		return err
	}
	o, err := s.findIn(ctx, tx, e.Order)
	if err != nil {
		return err
	}
	points := e.Cents / 100 * pointsPerYuan
	if err := s.give(ctx, tx, o.Visitor, points); err != nil {
		return err
	}
	return s.record(ctx, tx, e.Order, credited, points)
}

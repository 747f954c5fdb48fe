package shop

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"

	"github.com/nebis-dev/nebis/nebishttp"
)

// cancel takes a visitor's own order back. The key is the order's, and the change of
// status has a condition: two tabs, or a callback at the same moment, do no harm.
func (s *Shop) cancel(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	o, err := s.orderOf(r)
	if err != nil || o.Visitor != visitorOf(r) {
		s.message(w, r, http.StatusNotFound, "none", "none_say")
		return nil
	}
	if mood := r.PostFormValue(refundService); slices.Contains(moods, mood) {
		if _, err := tx.ExecContext(r.Context(), s.sql.q(s.sql.setMood), o.ID, refundService, mood); err != nil {
			return err
		}
	}
	if err := s.undo(r.Context(), tx, o); err != nil {
		return err
	}
	nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d/life", o.ID))
	return nil
}

// undo cancels an order that is open, with all that was given for it: the goods go
// back to the shelf and the points to the shop; money is sent back after the commit.
// An order that is not open any more stays as it is.
func (s *Shop) undo(ctx context.Context, tx *sql.Tx, o record) error {
	points := int64(o.Points)
	open, err := s.move(ctx, tx, o.ID, accepted, cancelled)
	if err != nil {
		return err
	}
	if !open {
		moved, err := s.move(ctx, tx, o.ID, paid, refunding)
		if err != nil || !moved {
			return err
		}
		points += bonus(o.order)
		if err := s.addCall(ctx, tx, refundAdded, errand{o.ID, o.Cents()}); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_goods SET stock = stock + ?, sold = sold - ? WHERE code = ?`), o.Qty, o.Qty, o.Item)
	if err != nil {
		return err
	}
	if err := s.give(ctx, tx, o.Visitor, -points); err != nil {
		return err
	}
	return s.record(ctx, tx, o.ID, cancelled, points)
}

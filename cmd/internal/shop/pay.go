package shop

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

// bonus is what paying gives beside the goods: a point for each yuan.
func bonus(o order) int64 { return o.Cents() / 100 }

// paid is the function of the callback: it runs once for each delivery, in the
// transaction that remembers it.
func (s *Shop) paid(ctx context.Context, tx *sql.Tx, e callback.Event) error {
	if taken, ok := ctx.Value(takenKey{}).(*atomic.Pointer[time.Time]); ok {
		now := time.Now()
		taken.Store(&now)
	}
	if e.State != callback.Paid {
		return nil // heard, and nothing to do
	}
	_, err := callback.Once(ctx, s.store, tx, "paid", e, func(ctx context.Context) error {
		return s.take(ctx, tx, e)
	})
	return err
}

// take takes the money for an order. The coupon is asked for after the commit.
func (s *Shop) take(ctx context.Context, tx *sql.Tx, e callback.Event) error {
	id, err := strconv.ParseInt(e.Order, 10, 64)
	if err != nil {
		return errNoOrder
	}
	o, err := s.findIn(ctx, tx, id)
	if err != nil {
		return err
	}
	if e.Amount != o.Cents() {
		return fmt.Errorf("shop: order %d costs %d cents, and %d were paid", id, o.Cents(), e.Amount)
	}
	moved, err := s.move(ctx, tx, id, accepted, paid)
	if err != nil {
		return err
	}
	if !moved {
		return s.takeLate(ctx, tx, o)
	}
	if err := s.give(ctx, tx, o.Visitor, bonus(o.order)); err != nil {
		return err
	}
	if err := s.record(ctx, tx, id, paid, bonus(o.order)); err != nil {
		return err
	}
	return s.askForCoupon(ctx, tx, id)
}

// takeLate is for money that no open order waits for. For a cancelled one it goes
// back. Else the order was paid twice, and that is for a person: the callback fails and
// is noted.
func (s *Shop) takeLate(ctx context.Context, tx *sql.Tx, o record) error {
	moved, err := s.move(ctx, tx, o.ID, cancelled, refunding)
	switch {
	case err != nil:
		return err
	case moved:
		if err := s.record(ctx, tx, o.ID, paidLate, 0); err != nil {
			return err
		}
		return s.addCall(ctx, tx, refundAdded, errand{o.ID, o.Cents()})
	}
	return fmt.Errorf("shop: nobody waits for the money of order %d: it is %s", o.ID, say(english, o.Status))
}

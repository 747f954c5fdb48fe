package shop

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// order is one order as the API shows it.
type order struct {
	ID     int64  `json:"id"`
	Item   string `json:"item"`
	Qty    int    `json:"qty"`
	Points int    `json:"points"`
	Status string `json:"status"`
}

// Cents is what it costs.
func (o order) Cents() int64 {
	g := goodsOf(o.Item)
	if g == nil { // not on the shelf any more
		return 0
	}
	return int64(o.Qty) * g.Cents
}

// sent is how an order came. The numbers are in the database.
type sent int

const (
	unprotected sent = 0
	keyed       sent = 1
	keyless     sent = 2 // to the protected handler, but without a key
)

// record is one order as the pages show it.
type record struct {
	order
	Visitor string
	Sent    sent
	Made    time.Time
	Since   int // points given since then, less those taken back
}

// Brought are the points that it really has brought.
func (r record) Brought() int { return r.Points + r.Since }

// Guarded and Keyless tell how it came: neither is the form without protection.
func (r record) Guarded() bool { return r.Sent == keyed }
func (r record) Keyless() bool { return r.Sent == keyless }

// errSoldOut: there are fewer pieces than the order wants.
var errSoldOut = errors.New("shop: sold out")

// errOnPurpose is what a visitor asked for with fail=error.
var errOnPurpose = errors.New("shop: failed on purpose, after the order was written")

// place is the business of the shop: it takes stock, writes the order and gives
// points, all in tx. It knows nothing of keys and duplicates. The slow part comes
// first, so that a slow order holds no stock meanwhile; what the visitor asked to
// go wrong comes last, when there is something to take back.
func (s *Shop) place(ctx context.Context, tx *sql.Tx, visitor string, w wish, how sent) (order, error) {
	if err := pause(ctx, w.delay); err != nil {
		return order{}, err
	}
	o := order{Item: w.item, Qty: w.qty, Points: w.qty * pointsEach, Status: accepted}
	if err := s.takeStock(ctx, tx, o); err != nil {
		return order{}, err
	}
	id, err := s.insertOrder(ctx, tx, o, visitor, how)
	if err != nil {
		return order{}, err
	}
	o.ID = id
	if err := s.give(ctx, tx, visitor, int64(o.Points)); err != nil {
		return order{}, err
	}
	switch w.fail {
	case "error":
		return order{}, errOnPurpose
	case "panic":
		panic(errOnPurpose)
	}
	return o, nil
}

// takeStock asks and takes in one statement: between a question and a taking,
// another order could take the last piece. (NULL - 1 is NULL: it never runs out.)
func (s *Shop) takeStock(ctx context.Context, tx *sql.Tx, o order) error {
	res, err := tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_goods SET stock = stock - ?, sold = sold + ?
		WHERE code = ? AND (stock IS NULL OR stock >= ?)`), o.Qty, o.Qty, o.Item, o.Qty)
	if err != nil {
		return err
	}
	switch n, err := res.RowsAffected(); {
	case err != nil:
		return err
	case n == 0:
		return errSoldOut
	}
	return nil
}

func (s *Shop) insertOrder(ctx context.Context, tx *sql.Tx, o order, visitor string, how sent) (id int64, err error) {
	query := s.sql.q(`INSERT INTO nebis_demo_orders (visitor, item, qty, points, status, guarded, made_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	args := []any{visitor, o.Item, o.Qty, o.Points, o.Status, int(how), time.Now().UnixMilli()}
	if s.sql.returning {
		return id, tx.QueryRowContext(ctx, query+" RETURNING id", args...).Scan(&id)
	}
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// pause is the slow business work of the demo.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package shop

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// errNoOrder: there is no order with this number.
var errNoOrder = errors.New("shop: no such order")

// recordColumns ends with the points that have come and gone since the order was made.
const recordColumns = `id, item, qty, points, status, visitor, guarded, made_ms,
	(SELECT COALESCE(SUM(CASE WHEN e.kind = 'cancelled' THEN -e.n ELSE e.n END), 0) FROM nebis_demo_events e
	WHERE e.order_id = nebis_demo_orders.id AND e.kind IN ('paid', 'no-coupon', 'cancelled', 'credited'))`

// find reads one order.
func (s *Shop) find(ctx context.Context, id int64) (record, error) { return s.findIn(ctx, s.db, id) }

// findIn is find in a transaction.
func (s *Shop) findIn(ctx context.Context, q asker, id int64) (record, error) {
	rec, err := scanRecord(q.QueryRowContext(ctx, s.sql.q(`SELECT `+recordColumns+` FROM nebis_demo_orders WHERE id = ?`), id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, errNoOrder
	}
	return rec, err
}

func scanRecord(scan func(...any) error) (r record, err error) {
	var ms int64
	err = scan(&r.ID, &r.Item, &r.Qty, &r.Points, &r.Status, &r.Visitor, &r.Sent, &ms, &r.Since)
	r.Made = time.UnixMilli(ms)
	return r, err
}

// newest reads the newest orders first; a negative limit reads them all.
func (s *Shop) newest(ctx context.Context, limit int) ([]record, error) {
	if limit < 0 {
		return s.records(ctx, `ORDER BY id DESC`)
	}
	return s.records(ctx, `ORDER BY id DESC LIMIT ?`, limit)
}

// twinWindow is how far apart two orders can be and still be one double click.
const twinWindow = 10 * time.Second

// twins reads the orders that look like r sent again: the same visitor, goods and
// quantity, moments apart, without a key. r itself is among them.
func (s *Shop) twins(ctx context.Context, r record) ([]record, error) {
	at := r.Made.UnixMilli()
	return s.records(ctx, `WHERE guarded = ? AND visitor = ? AND item = ? AND qty = ? AND made_ms BETWEEN ? AND ? ORDER BY id`,
		int(r.Sent), r.Visitor, r.Item, r.Qty, at-twinWindow.Milliseconds(), at+twinWindow.Milliseconds())
}

// isTwin tells whether two orders are twins, as the query of twins does.
func isTwin(a, b record) bool {
	return a.Sent == b.Sent && !a.Guarded() && a.Visitor == b.Visitor && a.Item == b.Item && a.Qty == b.Qty &&
		a.Made.Sub(b.Made).Abs() <= twinWindow
}

func (s *Shop) records(ctx context.Context, where string, args ...any) ([]record, error) {
	rows, err := s.db.QueryContext(ctx, s.sql.q(`SELECT `+recordColumns+` FROM nebis_demo_orders `+where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []record{}
	for rows.Next() {
		r, err := scanRecord(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// count counts all orders, the unprotected too.
func (s *Shop) count(ctx context.Context) (n int, err error) {
	return n, s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM nebis_demo_orders`).Scan(&n)
}

// points is what the visitor has been given so far.
func (s *Shop) points(ctx context.Context, visitor string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, s.sql.q(`SELECT points FROM nebis_demo_points WHERE visitor = ?`), visitor).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// stock is how many pieces are left of each kind; goods that never run out are
// not in it.
func (s *Shop) stock(ctx context.Context) (map[string]int, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT code, stock FROM nebis_demo_goods WHERE stock IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	left := map[string]int{}
	for rows.Next() {
		var code string
		var n int
		if err := rows.Scan(&code, &n); err != nil {
			return nil, err
		}
		left[code] = n
	}
	return left, rows.Err()
}

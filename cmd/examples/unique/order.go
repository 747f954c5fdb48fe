// Package unique is the recipe of docs/unique-column.md: an order that happens once
// by a unique index of its own table.
package unique

import (
	"context"
	"database/sql"
	"errors"

	"github.com/nebis-dev/nebis"
)

// Order is a row of the table orders.
type Order struct {
	ID               int64
	Owner, Key, Item string
}

// For PostgreSQL write $1, $2, … in place of each ?.
var (
	insertOrder = `INSERT INTO orders (owner, idem_key, item) VALUES (?, ?, ?)`
	selectOrder = `SELECT id, owner, idem_key, item FROM orders WHERE owner = ? AND idem_key = ?`
)

// ErrOther says that the owner used the key before, for something else.
var ErrOther = errors.New("this key belongs to another order")

// Place makes the order once. Sent again with the same key it returns the first one,
// and replayed is true. After any error it is safe to call it again.
func Place(ctx context.Context, db *sql.DB, o Order) (first Order, replayed bool, err error) {
	err = insert(ctx, db, o)
	replayed = nebis.Duplicate(err, "orders_key", "orders.owner", "orders.idem_key")
	if err != nil && !replayed {
		return Order{}, false, err
	}
	first, err = find(ctx, db, o)
	return first, replayed, err
}

// insert leaves nothing open: when it returns, a duplicate has been rolled back.
func insert(ctx context.Context, db *sql.DB, o Order) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// The unique row first: whoever comes second waits here, and has done nothing yet.
	if _, err := tx.ExecContext(ctx, insertOrder, o.Owner, o.Key, o.Item); err != nil {
		return err
	}
	// … what else belongs to the order, by the same tx …
	return tx.Commit()
}

// find reads the order that the key made, on the primary: a replica may not have it yet.
func find(ctx context.Context, db *sql.DB, o Order) (first Order, err error) {
	row := db.QueryRowContext(ctx, selectOrder, o.Owner, o.Key)
	if err := row.Scan(&first.ID, &first.Owner, &first.Key, &first.Item); err != nil {
		return Order{}, err
	}
	if first.Item != o.Item {
		return Order{}, ErrOther
	}
	return first, nil
}

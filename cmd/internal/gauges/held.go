package gauges

import (
	"context"
	"database/sql"
	"slices"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/stuck"
)

// Held is what holds keys, in whichever program.
type Held struct {
	Stuck  int // on PostgreSQL transactions, on MySQL and MariaDB their keys, for longer than Options.Over
	Hidden int // transactions whose age this account may not see
}

// unfinished returns the rows that are in progress or unknown. On MySQL and MariaDB
// it takes account of those that transactions hold: the same walk sees them at READ
// UNCOMMITTED, with no right but to read the table.
func (r *Reader) unfinished(ctx context.Context, t *keytable.Table, n *Reading) ([]keytable.Unfinished, error) {
	if r.store.Dialect() != nebis.MySQL || !t.Adopted() {
		return r.walk.step(ctx, t)
	}
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadUncommitted, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	all, err := r.walk.step(ctx, t.On(tx))
	if err != nil {
		return nil, err
	}
	n.Held = &Held{}
	return slices.DeleteFunc(all, func(o keytable.Unfinished) bool {
		if o.Open && o.Age > r.o.Over {
			n.Held.Stuck++
		}
		return o.Open
	}), nil
}

// sessions counts what PostgreSQL tells of transactions. A server that only speaks its
// language may not have these views: then nothing is told, and the rest is.
func (r *Reader) sessions(ctx context.Context, n *Reading) error {
	if r.store.Dialect() != nebis.Postgres {
		return nil
	}
	held, hidden, err := stuck.Count(ctx, r.db, r.store.Table(), r.o.Over)
	if err != nil {
		return ctx.Err()
	}
	n.Held = &Held{held, hidden}
	return nil
}

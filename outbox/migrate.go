package outbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/nebis-dev/nebis"
)

// Migrate makes the table with its indexes where it is missing. It may run at
// every start, and in many processes at once. It fails where there is a table of
// that name that is not an outbox.
func (o *Outbox) Migrate(ctx context.Context) error {
	if o.probe(ctx, o.db) == nil {
		return nil // an account that may not make tables gets here, too
	}
	if err := o.create(ctx); err != nil {
		return fmt.Errorf("outbox: migrate: %w", err)
	}
	if err := o.probe(ctx, o.db); err != nil {
		return fmt.Errorf("outbox: migrate: the table %s cannot be read; if it belongs to something else, Options.Table names another: %w", o.n.Quoted(""), err)
	}
	return nil
}

func (o *Outbox) create(ctx context.Context) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if o.d == nebis.Postgres {
		// IF NOT EXISTS fails where two look at the same time.
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('nebis outbox migrate'))`); err != nil {
			return err
		}
	}
	for _, statement := range o.sql.schema(o.n) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// probe reads no row, but names every column.
func (o *Outbox) probe(ctx context.Context, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}) error {
	rows, err := q.QueryContext(ctx, o.q.probe)
	if err != nil {
		return err
	}
	defer rows.Close()
	rows.Next()
	return rows.Err()
}

package callback

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/nebis-dev/nebis"
)

// Migrate makes the table of failures beside the store's, where it is missing: its
// name is that of the store's with "_failures". It may run at every start, and in many
// processes at once; where the table is there the account needs no right to make one.
// Without the table callbacks work, and failures are only logged.
func Migrate(ctx context.Context, db *sql.DB, s *nebis.Store) error {
	f := failuresOf(s)
	if f.probe(ctx, db) == nil {
		return nil
	}
	if err := create(ctx, db, s); err != nil {
		return fmt.Errorf("callback: make the table of failures: %w", err)
	}
	if err := f.probe(ctx, db); err != nil {
		return fmt.Errorf("callback: the table %s is there and cannot be read; does it belong to something else? %w", f.table, err)
	}
	return nil
}

func create(ctx context.Context, db *sql.DB, s *nebis.Store) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if s.Dialect() == nebis.Postgres {
		// IF NOT EXISTS fails where two look at the same time.
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('nebis callback migrate'))`); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, Schema(s)); err != nil {
		return err
	}
	return tx.Commit()
}

// probe reads no row, but names every column.
func (f failures) probe(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT id, `+columns+` FROM `+f.table+` WHERE 1 = 0`)
	if err != nil {
		return err
	}
	defer rows.Close()
	rows.Next()
	return rows.Err()
}

// Schema is the statement of [Migrate].
func Schema(s *nebis.Store) string {
	f := failuresOf(s)
	tail := ""
	if f.d == nebis.MySQL {
		tail = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
	}
	return `CREATE TABLE IF NOT EXISTS ` + f.table + ` (
  id CHAR(64) NOT NULL PRIMARY KEY,
  provider VARCHAR(64) NOT NULL,
  account VARCHAR(255) NOT NULL,
  delivery VARCHAR(255) NOT NULL,
  order_number VARCHAR(255) NOT NULL,
  attempts INT NOT NULL,
  error TEXT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  done_at BIGINT NULL
)` + tail
}

package find

import (
	"context"
	"database/sql"
)

type sqliteDialect struct{}

func (sqliteDialect) quote(name string) string { return quoted(name, `"`) }

func (d sqliteDialect) text(c column) string { return "CAST(" + d.quote(c.name) + " AS TEXT)" }

func (sqliteDialect) param(int, column) string { return "?" }

func (sqliteDialect) arg(c column, text string) any { return integerArg(c, text) }

func (d sqliteDialect) table(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	t, err := d.find(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	primary, err := d.columns(ctx, tx, t)
	if err != nil {
		return nil, err
	}
	if err := d.indexes(ctx, tx, t); err != nil {
		return nil, err
	}
	t.settleKey()
	return t, d.rowid(ctx, tx, t, primary)
}

func (sqliteDialect) find(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	var all []string
	err := rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	}, `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	i, err := pick(name, all)
	if err != nil {
		return nil, err
	}
	return &table{name: all[i]}, nil
}

// columns returns those of the primary key as well, which has no index where it
// is the rowid.
func (sqliteDialect) columns(ctx context.Context, tx *sql.Tx, t *table) ([]column, error) {
	var primary []column
	err := rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var c column
		var pk, hidden int
		if err := rows.Scan(&c.name, &c.full, &c.notNull, &pk, &hidden); err != nil {
			return err
		}
		c.typ, c.generated = base(c.full), hidden > 1
		if pk > 0 {
			primary = append(primary, c)
		}
		t.columns = append(t.columns, c)
		return nil
	}, `SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)`, t.name)
	return primary, err
}

func (sqliteDialect) indexes(ctx context.Context, tx *sql.Tx, t *table) error {
	x := indexer{table: t}
	return x.read(ctx, tx, `SELECT l.name, l."unique", l.origin = 'pk', i.name FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i
		WHERE NOT l.partial AND NOT EXISTS (SELECT 1 FROM pragma_index_info(l.name) WHERE name IS NULL) ORDER BY l.seq, i.seqno`, t.name)
}

// rowid reads the table by its rowid, if it has one: rows lie in that order, and
// it is an integer whatever the primary key is.
func (d sqliteDialect) rowid(ctx context.Context, tx *sql.Tx, t *table, primary []column) error {
	if len(t.key) == 0 {
		t.key = primary
	}
	var has bool
	err := tx.QueryRowContext(ctx, `SELECT type = 'table' AND NOT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`, t.name).Scan(&has)
	if err != nil || !has {
		return err
	}
	name := ""
	for _, candidate := range []string{"_rowid_", "rowid", "oid"} {
		if _, taken := match(candidate, names(t.columns)); !taken {
			name = candidate
			break
		}
	}
	if name == "" {
		return nil
	}
	t.page = []column{{name: name, typ: "integer", full: "integer", notNull: true, auto: true}}
	if len(t.key) == 0 {
		t.key = t.page
	}
	var rows sql.NullInt64
	err = tx.QueryRowContext(ctx, "SELECT MAX("+d.quote(name)+") FROM "+d.quote(t.name)).Scan(&rows)
	t.rows = int(rows.Int64)
	return err
}

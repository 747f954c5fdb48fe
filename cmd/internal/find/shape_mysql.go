package find

import (
	"context"
	"database/sql"
	"strings"
)

type mysqlDialect struct{}

func (mysqlDialect) quote(name string) string { return quoted(name, "`") }

func (d mysqlDialect) text(c column) string { return d.quote(c.name) }

func (mysqlDialect) param(int, column) string { return "?" }

func (mysqlDialect) arg(c column, text string) any {
	if strings.Contains(c.typ, "binary") || strings.Contains(c.typ, "blob") {
		return []byte(text)
	}
	return integerArg(c, text)
}

func (d mysqlDialect) table(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	t, err := d.find(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if err := d.columns(ctx, tx, t); err != nil {
		return nil, err
	}
	if err := d.indexes(ctx, tx, t); err != nil {
		return nil, err
	}
	t.settleKey()
	return t, nil
}

func (mysqlDialect) find(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	var schema string
	if err := tx.QueryRowContext(ctx, `SELECT DATABASE()`).Scan(&schema); err != nil {
		return nil, err
	}
	var all []string
	var counts []int
	err := rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var name string
		var n sql.NullInt64
		err := rows.Scan(&name, &n)
		all, counts = append(all, name), append(counts, int(n.Int64))
		return err
	}, `SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name`, schema)
	if err != nil {
		return nil, err
	}
	i, err := pick(name, all)
	if err != nil {
		return nil, err
	}
	return &table{schema: schema, name: all[i], rows: counts[i]}, nil
}

func (mysqlDialect) columns(ctx context.Context, tx *sql.Tx, t *table) error {
	return rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var c column
		var nullable, extra string
		err := rows.Scan(&c.name, &c.typ, &c.full, &nullable, &extra)
		c.typ, extra = strings.ToLower(c.typ), strings.ToLower(extra)
		c.notNull = nullable == "NO"
		c.auto = strings.Contains(extra, "auto_increment")
		c.generated = strings.Contains(extra, "virtual") || strings.Contains(extra, "stored generated") || strings.Contains(extra, "persistent")
		t.columns = append(t.columns, c)
		return err
	}, `SELECT column_name, data_type, column_type, is_nullable, extra FROM information_schema.columns
		WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position`, t.schema, t.name)
}

// indexes leaves out those on a part of a column, or on an expression.
func (mysqlDialect) indexes(ctx context.Context, tx *sql.Tx, t *table) error {
	x := indexer{table: t}
	partial := map[string]bool{}
	return rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var name string
		var col sql.NullString
		var many, part bool
		if err := rows.Scan(&name, &many, &col, &part); err != nil {
			return err
		}
		partial[name] = partial[name] || part || !col.Valid
		if !partial[name] {
			x.add(name, col.String, !many, name == "PRIMARY")
		} else if x.last == name {
			t.indexes[len(t.indexes)-1].unique = false
		}
		return nil
	}, `SELECT index_name, non_unique, column_name, sub_part IS NOT NULL FROM information_schema.statistics
		WHERE table_schema = ? AND table_name = ? ORDER BY index_name, seq_in_index`, t.schema, t.name)
}

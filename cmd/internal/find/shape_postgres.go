package find

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

type postgresDialect struct{}

func (postgresDialect) quote(name string) string { return quoted(name, `"`) }

func (d postgresDialect) text(c column) string { return d.quote(c.name) + "::text" }

// param: the type's name comes from format_type, which quotes what needs it.
func (postgresDialect) param(n int, c column) string {
	return fmt.Sprintf("CAST($%d::text AS %s)", n, c.full)
}

func (postgresDialect) arg(_ column, text string) any { return text }

func (d postgresDialect) table(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	t, oid, err := d.find(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if err := d.estimate(ctx, tx, t, oid); err != nil {
		return nil, err
	}
	if err := d.columns(ctx, tx, t, oid); err != nil {
		return nil, err
	}
	if err := d.indexes(ctx, tx, t, oid); err != nil {
		return nil, err
	}
	t.settleKey()
	return t, nil
}

// find looks on the search path first; schema.table names any other.
func (postgresDialect) find(ctx context.Context, tx *sql.Tx, name string) (*table, int64, error) {
	var tables []*table
	var oids []int64
	var bare, dotted []string
	err := rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var t table
		var oid int64
		var onPath bool
		err := rows.Scan(&oid, &t.schema, &t.name, &onPath)
		tables, oids = append(tables, &t), append(oids, oid)
		dotted = append(dotted, t.schema+"."+t.name)
		if onPath {
			bare = append(bare, t.name)
		} else {
			bare = append(bare, t.schema+"."+t.name)
		}
		return err
	}, `SELECT c.oid, n.nspname, c.relname, COALESCE(n.nspname = ANY(current_schemas(false)), false) AS on_path
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
		ORDER BY on_path DESC, array_position(current_schemas(false), n.nspname), c.relname`)
	if err != nil {
		return nil, 0, err
	}
	i, ok := match(name, bare)
	if !ok {
		i, ok = match(name, dotted)
	}
	if !ok {
		if i, err = pick(name, bare); err != nil {
			return nil, 0, err
		}
	}
	return tables[i], oids[i], nil
}

// estimate adds the partitions up. What was never analysed is judged by its
// size, a hundred bytes a row.
func (postgresDialect) estimate(ctx context.Context, tx *sql.Tx, t *table, oid int64) error {
	return tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(CASE WHEN reltuples >= 0 THEN reltuples ELSE pg_catalog.pg_relation_size(oid) / 100 END), 0)::bigint
		FROM pg_catalog.pg_class WHERE relkind <> 'p' AND
			(oid = $1::bigint::oid OR oid IN (SELECT relid FROM pg_catalog.pg_partition_tree($1::bigint::oid)))`, oid).Scan(&t.rows)
}

func (postgresDialect) columns(ctx context.Context, tx *sql.Tx, t *table, oid int64) error {
	return rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var c column
		err := rows.Scan(&c.name, &c.full, &c.notNull, &c.auto, &c.generated)
		c.typ = strings.TrimPrefix(base(c.full), "character ")
		t.columns = append(t.columns, c)
		return err
	}, `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
			a.attidentity <> '' OR COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false),
			a.attgenerated <> ''
		FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, oid)
}

// indexes leaves out those on a part of the rows, or on an expression.
func (postgresDialect) indexes(ctx context.Context, tx *sql.Tx, t *table, oid int64) error {
	x := indexer{table: t}
	return x.read(ctx, tx, `SELECT i.indexrelid::text, i.indisunique, i.indisprimary, a.attname
		FROM pg_catalog.pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
		WHERE i.indrelid = $1::bigint::oid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indisvalid AND k.n <= i.indnkeyatts
		ORDER BY i.indexrelid, k.n`, oid)
}

package nebis

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// What PostgreSQL tells about a table.

const (
	postgresTable = `SELECT s.nspname, c.relkind::text, c.relpersistence::text
FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.oid = to_regclass($1)`

	postgresColumns = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), format_type(a.atttypid, -1), t.typtype::text, a.atttypmod,
  COALESCE(k.collisdeterministic, true), NOT a.attnotnull, COALESCE(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity <> '',
  COALESCE((SELECT string_agg(e.enumlabel, ',') FROM pg_enum e WHERE e.enumtypid = t.oid), '')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation k ON k.oid = a.attcollation
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

	postgresIndexes = `SELECT r.relname, COALESCE(a.attname, ''), i.indisunique, i.indisprimary, i.indpred IS NOT NULL,
  NOT (i.indisvalid AND i.indisready), NOT i.indimmediate, EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('u', 'p'))
FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY p(attnum, place)
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.attnum AND p.attnum > 0
WHERE i.indrelid = to_regclass($1) AND p.place <= i.indnkeyatts ORDER BY r.relname, p.place`

	postgresTaken = `SELECT r.relname FROM pg_class r JOIN pg_namespace s ON s.oid = r.relnamespace
WHERE s.nspname = COALESCE(NULLIF($1, ''), current_schema()) AND left(r.relname::text, length($2)) = $2`

	postgresChecks = `SELECT k.conname, pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = 'status'
WHERE k.conrelid = to_regclass($1) AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]`
)

type postgresAdopter struct{}

func (postgresAdopter) quoted(n sqltext.Name) string { return n.Quoted(`"`) }
func (postgresAdopter) latest() string {
	return `to_char(MAX(expires_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')`
}

func (a postgresAdopter) look(ctx context.Context, q link, n sqltext.Name) (*shape, error) {
	s := &shape{schema: n.Schema}
	var kind, persistence string
	t := []any{a.quoted(n)}
	err := q.QueryRowContext(ctx, postgresTable, t...).Scan(&s.schema, &kind, &persistence)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if s.exists = err == nil; s.exists {
		s.unsafe = persistence != "p"
		s.engine = map[string]string{"u": "unlogged"}[persistence]
		s.notTable = map[string]string{"v": "view", "m": "materialized view", "f": "foreign table"}[kind]
		if persistence == "t" {
			s.notTable = "temporary table"
		}
		if err := s.lookPostgres(ctx, q, t); err != nil {
			return nil, err
		}
		s.numbered = s.indexed("id")
	}
	s.taken = nil
	return s, each(ctx, q, postgresTaken, []any{s.schema, n.Table}, func(scan scanner) error {
		var name string
		err := scan(&name)
		s.taken = append(s.taken, name)
		return err
	})
}

func (s *shape) lookPostgres(ctx context.Context, q link, t []any) error {
	err := each(ctx, q, postgresColumns, t, func(scan scanner) error {
		c, err := postgresColumn(scan)
		s.columns = append(s.columns, c)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, q, postgresIndexes, t, func(scan scanner) error {
		var x index
		var column string
		err := scan(&x.name, &column, &x.unique, &x.primary, &x.partial, &x.invalid, &x.deferred, &x.constraint)
		s.addIndex(x, column)
		return err
	})
	if c := s.column("status"); err == nil && c != nil && c.kind == text {
		err = s.askChecks(ctx, q, t, c)
	}
	return err
}

func postgresColumn(scan scanner) (column, error) {
	var c column
	var base, class, labels string
	var modifier int64
	var identity bool
	err := scan(&c.name, &c.typ, &base, &class, &modifier, &c.exact, &c.nullable, &c.fallback, &identity, &labels)
	c.kind = postgresKind(base, class)
	c.filled = c.fallback != "" || identity
	if base == "character varying" || base == "bpchar" {
		c.length = max(modifier-4, 0) // the modifier counts its own four bytes
	}
	c.padded = base == "bpchar"
	c.exact = c.exact && !c.padded && !strings.HasSuffix(base, "citext")
	if c.name == "status" && class == "e" {
		for _, w := range statusWords {
			if !strings.Contains(","+labels+",", ","+w+",") {
				c.lacks = append(c.lacks, w)
			}
		}
	}
	return c, err
}

func postgresKind(base, class string) kind {
	switch {
	case class == "e", class == "d", base == "uuid":
		return label
	case base == "text", base == "character varying", base == "bpchar", strings.HasSuffix(base, "citext"), base == "json", base == "jsonb":
		return text
	case base == "smallint", base == "integer", base == "bigint":
		return number
	case strings.HasPrefix(base, "timestamp"):
		return moment
	}
	return alien
}

// askChecks asks the constraints of status themselves what they think of each
// word.
func (s *shape) askChecks(ctx context.Context, q link, t []any, c *column) error {
	var all []named
	err := each(ctx, q, postgresChecks, t, func(scan scanner) error {
		var k named
		err := scan(&k.name, &k.text)
		all = append(all, k)
		return err
	})
	for _, k := range all {
		if err != nil {
			break
		}
		before := len(c.lacks)
		err = each(ctx, q, `SELECT status::text FROM (VALUES ('processing'::text), ('done'), ('failed')) w(status) WHERE NOT (`+k.text+`)`, nil,
			func(scan scanner) error {
				var word string
				err := scan(&word)
				c.lacks = append(c.lacks, word)
				return err
			})
		if len(c.lacks) > before {
			c.checks = append(c.checks, k)
		}
	}
	return err
}

func (a postgresAdopter) rows(ctx context.Context, q link, n sqltext.Name, s *shape) error {
	return s.askRows(ctx, q, a.quoted(n))
}

const postgresSettings = `SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'default_transaction_isolation',
  'transaction_read_only', 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle')`

func (postgresAdopter) ask(ctx context.Context, q link) (*server, error) {
	v := &server{product: "PostgreSQL", settings: map[string]string{}}
	if err := v.readSettings(ctx, q, postgresSettings); err != nil {
		return nil, err
	}
	v.version = v.settings["server_version"]
	var micros int64
	sent := time.Now()
	err := q.QueryRowContext(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&micros)
	v.ahead = ahead(sent, time.Now(), micros)
	return v, err
}

package nebis

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// What SQLite tells about a table. It checks few types, so the question is what
// it does to a text: compare it without case, or take "007" for the number 7.

const (
	sqliteColumns = `SELECT lower(name), type, "notnull", COALESCE(dflt_value, ''), pk, hidden FROM pragma_table_xinfo(?, ?) ORDER BY cid`

	sqliteIndexes = `SELECT l.name, lower(COALESCE(x.name, '')), l."unique", l.origin, l.partial, x.coll <> 'BINARY'
FROM pragma_index_list(?, ?) l, pragma_index_xinfo(l.name, ?) x WHERE x.key = 1 ORDER BY l.name, x.seqno`

	sqliteReferenced = `SELECT COALESCE(MIN(m.name), '') FROM {schema}.sqlite_master m, pragma_foreign_key_list(m.name, ?) f
WHERE m.type = 'table' AND lower(f."table") = lower(?) AND lower(m.name) <> lower(?)`
)

type sqliteAdopter struct{}

func (sqliteAdopter) quoted(n sqltext.Name) string { return n.Quoted(`"`) }
func (sqliteAdopter) latest() string               { return `MAX(expires_at)` }

func (a sqliteAdopter) look(ctx context.Context, q link, n sqltext.Name) (*shape, error) {
	s := &shape{schema: n.Schema, numbered: true}
	if s.schema == "" {
		s.schema = "main"
	}
	master := quote(s.schema) + `.sqlite_master`
	var typ string
	err := q.QueryRowContext(ctx, `SELECT type, sql FROM `+master+` WHERE type IN ('table', 'view') AND lower(name) = lower(?)`, n.Table).Scan(&typ, &s.definition)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if s.exists = err == nil; s.exists {
		d, ok := parseDefinition(s.definition)
		switch {
		case typ == "view":
			s.notTable = typ
		case !ok || strings.EqualFold(after(s.definition, "CREATE"), "virtual"):
			s.notTable = "virtual table"
		default:
			if err := s.lookSQLite(ctx, q, n, d); err != nil {
				return nil, err
			}
		}
	}
	s.taken = nil
	return s, each(ctx, q, `SELECT name FROM `+master, nil, func(scan scanner) error {
		var name string
		err := scan(&name)
		s.taken = append(s.taken, name)
		return err
	})
}

func (s *shape) lookSQLite(ctx context.Context, q link, n sqltext.Name, d definition) error {
	err := each(ctx, q, sqliteColumns, []any{n.Table, s.schema}, func(scan scanner) error {
		c, err := sqliteColumn(scan, d)
		s.columns = append(s.columns, c)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, q, sqliteIndexes, []any{n.Table, s.schema, s.schema}, func(scan scanner) error {
		var x index
		var column, origin string
		err := scan(&x.name, &column, &x.unique, &origin, &x.partial, &x.folds)
		x.primary, x.constraint = origin == "pk", origin == "u"
		s.addIndex(x, column)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, q, `SELECT name, sql FROM `+quote(s.schema)+`.sqlite_master
WHERE type IN ('index', 'trigger') AND lower(tbl_name) = lower(?) AND sql IS NOT NULL ORDER BY type, name`, []any{n.Table}, func(scan scanner) error {
		var x named
		err := scan(&x.name, &x.text)
		s.attached = append(s.attached, x)
		return err
	})
	if err != nil {
		return err
	}
	return q.QueryRowContext(ctx, strings.Replace(sqliteReferenced, "{schema}", quote(s.schema), 1), s.schema, n.Table, n.Table).Scan(&s.referenced)
}

func sqliteColumn(scan scanner, d definition) (column, error) {
	var c column
	var notNull bool
	var key, hidden int
	err := scan(&c.name, &c.typ, &notNull, &c.fallback, &key, &hidden)
	c.kind = wantOf(c.name).kind
	c.nullable = !notNull
	c.filled = c.fallback != "" || hidden > 0
	c.computed = hidden > 0
	collation := ""
	for _, part := range d.parts {
		if columnOf(part) == c.name {
			collation = after(part, "COLLATE")
		}
		if c.name == "status" && (columnOf(part) == "status" || columnOf(part) == "") {
			c.lacks = append(c.lacks, lacks(part)...)
		}
	}
	c.numeric = numericAffinity(c.typ)
	c.exact = !c.numeric && (collation == "" || collation == "binary")
	if c.name == "id" {
		c.filled = strings.EqualFold(c.typ, "INTEGER") && key == 1 && !has(d.tail, "WITHOUT")
	}
	return c, err
}

// numericAffinity reports whether a column of this type makes a number of a text
// that looks like one: SQLite's own rule.
func numericAffinity(typ string) bool {
	typ = strings.ToUpper(typ)
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(typ, w) })
	}
	return typ != "" && (contains("INT") || !contains("CHAR", "CLOB", "TEXT", "BLOB"))
}

func (a sqliteAdopter) rows(ctx context.Context, q link, n sqltext.Name, s *shape) error {
	return s.askRows(ctx, q, a.quoted(n))
}

// ask asks for the settings of this connection. The clock is the program's own.
func (sqliteAdopter) ask(ctx context.Context, q link) (*server, error) {
	v := &server{product: "SQLite", settings: map[string]string{}}
	for _, name := range wanted["SQLite"] {
		var value string
		err := q.QueryRowContext(ctx, `PRAGMA `+name).Scan(&value)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err == nil {
			v.settings[name] = value
		}
	}
	return v, q.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&v.version)
}

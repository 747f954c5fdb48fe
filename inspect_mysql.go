package nebis

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// What MySQL and MariaDB tell about a table and about themselves.

const (
	mysqlTable = `SELECT t.TABLE_SCHEMA, t.TABLE_TYPE, COALESCE(t.ENGINE, ''), COALESCE(e.TRANSACTIONS, 'NO')
FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE
WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ?`

	mysqlColumns = `SELECT LOWER(COLUMN_NAME), COLUMN_TYPE, DATA_TYPE, COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(CHARACTER_SET_NAME, ''),
  COALESCE(COLLATION_NAME, ''), IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	mysqlIndexes = `SELECT INDEX_NAME, NON_UNIQUE, LOWER(COALESCE(COLUMN_NAME, '')), COALESCE(SUB_PART, 0)
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX`
)

type mysqlAdopter struct{}

func (mysqlAdopter) quoted(n sqltext.Name) string { return n.Quoted("`") }
func (mysqlAdopter) latest() string               { return `CAST(MAX(expires_at) AS CHAR)` }

func (a mysqlAdopter) look(ctx context.Context, q link, n sqltext.Name) (*shape, error) {
	s := new(shape)
	var typ, transactions string
	err := q.QueryRowContext(ctx, mysqlTable, n.Schema, n.Table).Scan(&s.schema, &typ, &s.engine, &transactions)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.exists, s.numbered, s.unsafe = true, true, transactions != "YES"
	if !strings.HasSuffix(typ, "TABLE") {
		s.notTable = strings.ToLower(typ)
	}
	err = each(ctx, q, mysqlColumns, []any{s.schema, n.Table}, func(scan scanner) error {
		c, err := mysqlColumn(scan)
		s.columns = append(s.columns, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, mysqlIndexes, []any{s.schema, n.Table}, func(scan scanner) error {
		var x index
		var column string
		var common, prefix int
		err := scan(&x.name, &common, &column, &prefix)
		x.unique, x.primary, x.partial = common == 0, x.name == "PRIMARY", prefix > 0
		s.addIndex(x, column)
		return err
	})
	return s, err
}

// addIndex adds an index, or one more column to the last one.
func (s *shape) addIndex(x index, column string) {
	if i := len(s.indexes) - 1; i >= 0 && s.indexes[i].name == x.name {
		last := &s.indexes[i]
		last.columns = append(last.columns, column)
		last.partial, last.folds = last.partial || x.partial, last.folds || x.folds
		return
	}
	x.columns = []string{column}
	s.indexes, s.taken = append(s.indexes, x), append(s.taken, x.name)
}

func mysqlColumn(scan scanner) (column, error) {
	var c column
	var base, collation, null, extra string
	var fallback sql.NullString
	err := scan(&c.name, &c.typ, &base, &c.length, &c.charset, &collation, &null, &fallback, &extra, &c.comment)
	base = strings.ToLower(base)
	c.kind, c.nullable = mysqlKind(base), null == "YES"
	c.exact = strings.HasSuffix(collation, "_bin") || c.charset == "" || c.charset == "binary"
	// MariaDB writes a default as an expression, MySQL as its bare value.
	if fallback.Valid && fallback.String != "NULL" {
		c.fallback = fallback.String
	}
	extra = strings.ToLower(extra)
	c.filled = fallback.Valid || strings.Contains(extra, "auto_increment") || strings.Contains(extra, "generated") && !strings.Contains(extra, "default_generated")
	if c.name == "id" {
		c.filled = strings.Contains(extra, "auto_increment") // nothing else tells the driver the new id
	}
	if base == "enum" {
		c.length, c.words = 0, enumWords(c.typ)
		c.lacks = slices.DeleteFunc(slices.Clone(statusWords), func(w string) bool { return slices.Contains(c.words, w) })
	}
	return c, err
}

func mysqlKind(base string) kind {
	switch base {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext",
		"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "json":
		return text
	case "enum", "uuid":
		return label
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return number
	case "datetime", "timestamp":
		return moment
	}
	return alien
}

// enumWords takes the values out of enum('a','b').
func enumWords(typ string) []string {
	_, list, _ := strings.Cut(typ, "(")
	var words []string
	for _, w := range strings.Split(strings.TrimSuffix(list, ")"), "','") {
		words = append(words, strings.ReplaceAll(strings.Trim(w, "'"), "''", "'"))
	}
	return words
}

// askForeign finds out which columns hold more than ASCII. Only those that are
// to be altered matter.
func (a mysqlAdopter) askForeign(ctx context.Context, q link, n sqltext.Name, s *shape) (err error) {
	for i := range s.columns {
		c := &s.columns[i]
		w := wantOf(c.name)
		if !w.exact || !w.altered(c) || c.charset == "" || c.charset == "ascii" {
			continue
		}
		c.foreign, err = found(ctx, q, `SELECT 1 FROM `+a.quoted(n)+` WHERE HEX(CONVERT(`+c.name+` USING utf8mb4)) REGEXP '^(..)*[89A-F]'`)
		if err != nil {
			return err
		}
	}
	return nil
}

type scanner func(...any) error

// each calls do for each row of a query.
func each(ctx context.Context, q link, query string, args []any, do func(scanner) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

package nebis

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// plan returns statements for one transaction.
func (a sqliteAdopter) plan(n sqltext.Name, s *shape) ([]string, error) {
	schema := sqliteSchema(n)
	if !s.exists {
		return append(schema[:1:1], a.indexes(n, s)...), nil
	}
	rebuild := slices.ContainsFunc(s.spent(), func(x index) bool { return x.constraint })
	var all []string
	for _, w := range wants {
		switch c := s.column(w.name); {
		case c == nil:
			all = append(all, "ALTER TABLE "+a.quoted(n)+" ADD COLUMN "+sqliteAdded(w))
		case w.altered(c):
			rebuild = true
		}
	}
	if rebuild {
		var err error
		if all, err = a.rebuild(n, s); err != nil {
			return nil, err
		}
	} else {
		for _, x := range s.spent() {
			all = append(all, "DROP INDEX "+quote(s.schema)+"."+quote(x.name))
		}
	}
	return append(all, a.indexes(n, s)...), nil
}

func (a sqliteAdopter) indexes(n sqltext.Name, s *shape) []string {
	var all []string
	add := func(unique, suffix, columns string) {
		x := sqltext.Name{Schema: n.Schema, Table: s.free(n.Index(suffix))}
		all = append(all, `CREATE `+unique+`INDEX `+a.quoted(x)+` ON `+quote(n.Table)+` (`+columns+`)`)
	}
	if s.guard() == nil {
		add("UNIQUE ", "uk", "idem_key, scope, owner")
	}
	if s.lent() {
		add("UNIQUE ", "old", "idem_key, scope")
	}
	if !s.indexed("expires_at") {
		add("", "idx_expires", "expires_at")
	}
	return all
}

// sqliteAdded returns the definition of a column that is added. There its
// default has to be a constant; the Store fills the times itself.
func sqliteAdded(w want) string {
	def := definitions(sqliteSchema(sqltext.Name{Table: defaultTable})[0])[w.name]
	before, _, _ := strings.Cut(def, " NOT NULL DEFAULT (")
	return before
}

// rebuild returns what copies the table away, makes it anew and copies it back.
// (The shorter way, to rename the new table, fails where a view names the old.)
func (a sqliteAdopter) rebuild(n sqltext.Name, s *shape) ([]string, error) {
	if s.referenced != "" {
		return nil, fmt.Errorf("the table has to be built anew, but %s has a foreign key to it: drop that table's foreign key first", s.referenced)
	}
	create, err := s.rebuilt(a.quoted(n))
	if err != nil {
		return nil, err
	}
	var columns []string
	for _, c := range s.columns {
		if !c.computed {
			columns = append(columns, quote(c.name))
		}
	}
	list := strings.Join(columns, ", ")
	away := sqltext.Name{Schema: n.Schema, Table: s.free(n.Table + "_away")}.Quoted(`"`)
	all := []string{
		"CREATE TABLE " + away + " AS SELECT " + list + " FROM " + a.quoted(n),
		"DROP TABLE " + a.quoted(n),
		create,
		"INSERT INTO " + a.quoted(n) + " (" + list + ") SELECT " + list + " FROM " + away,
		"DROP TABLE " + away,
	}
	for _, x := range s.attached {
		if !slices.ContainsFunc(s.spent(), func(i index) bool { return i.name == x.name }) {
			all = append(all, x.text)
		}
	}
	return all, nil
}

// rebuilt returns the table's CREATE TABLE with the columns as the Store wants
// them.
func (s *shape) rebuilt(t string) (string, error) {
	d, _ := parseDefinition(s.definition)
	drop := len(s.spent()) > 0
	var parts, constraints []string
	for _, part := range d.parts {
		name := columnOf(part)
		switch c := s.column(name); {
		case name == "" && (drop && oldUnique(part) || len(lacks(part)) > 0):
		case name == "":
			constraints = append(constraints, part)
		case wantOf(name).altered(c) || drop && has(part, "UNIQUE") && (name == "idem_key" || name == "scope"):
			if has(part, "REFERENCES", "GENERATED") || has(part, "CHECK") && name != "status" {
				return "", fmt.Errorf("column %s has to be defined anew, but its definition has more in it than a type (%s): do it by hand", name, part)
			}
			parts = append(parts, sqliteRedefined(c, has(part, "UNIQUE") && !drop))
		default:
			parts = append(parts, part)
		}
	}
	for _, w := range wants {
		if s.column(w.name) == nil {
			parts = append(parts, sqliteAdded(w))
		}
	}
	return "CREATE TABLE " + t + " (\n  " + strings.Join(append(parts, constraints...), ",\n  ") + "\n)" + d.tail, nil
}

func sqliteRedefined(c *column, unique bool) string {
	def := quote(c.name) + " TEXT"
	if !c.nullable && c.name != "response" {
		def += " NOT NULL"
	}
	if c.fallback != "" {
		def += " DEFAULT (" + c.fallback + ")"
	}
	if unique {
		def += " UNIQUE"
	}
	return def
}

// alone runs do in a transaction that writes from its first moment on: it
// happens as a whole or not at all. A driver without a busy time-out fails at
// once while another writes, so it is tried for a while.
func (sqliteAdopter) alone(ctx context.Context, conn *sql.Conn, _ sqltext.Name, do func(link) error) error {
	if err := beginImmediate(ctx, conn); err != nil {
		return err
	}
	err := do(conn)
	if err == nil {
		_, err = conn.ExecContext(ctx, `COMMIT`)
	}
	if err == nil {
		return nil
	}
	if _, undone := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`); undone != nil {
		err = errors.Join(err, undone)
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

func beginImmediate(ctx context.Context, conn *sql.Conn) error {
	for end := time.Now().Add(10 * time.Second); ; pause(ctx, 1) {
		_, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

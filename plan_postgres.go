package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// plan returns statements for one transaction.
func (a postgresAdopter) plan(n sqltext.Name, s *shape) ([]string, error) {
	t := a.quoted(n)
	schema := postgresSchema(n)
	if !s.exists {
		return append(schema[:1:1], a.indexes(n, s)...), nil
	}
	defs := definitions(schema[0])
	var all, clauses []string
	for _, w := range wants {
		switch c := s.column(w.name); {
		case c == nil:
			clauses = append(clauses, "ADD COLUMN "+defs[w.name])
		case w.altered(c) && w.name == "status" && c.kind == label:
			for _, word := range c.lacks {
				all = append(all, "ALTER TYPE "+c.typ+" ADD VALUE IF NOT EXISTS '"+word+"'")
			}
		case w.altered(c):
			clauses = append(clauses, postgresAlter(w, c)...)
		}
	}
	if s.engine == "unlogged" {
		clauses = append(clauses, "SET LOGGED")
	}
	for _, x := range s.spent() {
		if x.constraint {
			clauses = append(clauses, "DROP CONSTRAINT "+quote(x.name))
		}
	}
	for _, x := range s.broken() {
		all = append(all, "DROP INDEX "+quote(s.schema)+"."+quote(x.name))
		s.taken = slices.DeleteFunc(s.taken, func(t string) bool { return t == x.name })
	}
	if len(clauses) > 0 {
		all = append(all, "ALTER TABLE "+t+"\n  "+strings.Join(clauses, ",\n  "))
	}
	for _, x := range s.spent() {
		if !x.constraint {
			all = append(all, "DROP INDEX "+quote(s.schema)+"."+quote(x.name))
		}
	}
	return append(all, a.indexes(n, s)...), nil
}

// indexes returns what makes the missing indexes.
func (a postgresAdopter) indexes(n sqltext.Name, s *shape) []string {
	var all []string
	if s.guard() == nil {
		all = append(all, `CREATE UNIQUE INDEX `+quote(s.free(n.Index("uk")))+` ON `+a.quoted(n)+` (idem_key, scope, owner)`)
	}
	if s.lent() {
		all = append(all, `CREATE UNIQUE INDEX `+quote(s.free(n.Index("old")))+` ON `+a.quoted(n)+` (idem_key, scope)`)
	}
	if s.exists && !s.numbered {
		all = append(all, `CREATE INDEX `+quote(s.free(n.Index("id")))+` ON `+a.quoted(n)+` (id)`)
	}
	if !s.indexed("expires_at") {
		all = append(all, `CREATE INDEX `+quote(s.free(n.Index("idx_expires")))+` ON `+a.quoted(n)+` (expires_at)`)
	}
	return all
}

func postgresAlter(w want, c *column) []string {
	length := max(w.length, c.length)
	typ := fmt.Sprintf("VARCHAR(%d)", length)
	if c.kind == text && c.length == 0 {
		typ = "TEXT" // as long as it could be before
	}
	column := "ALTER COLUMN " + w.name
	var clauses []string
	switch {
	case w.name == "response":
		if c.short(w.length) {
			clauses = append(clauses, column+" TYPE TEXT")
		}
		if !c.nullable {
			clauses = append(clauses, column+" DROP NOT NULL")
		}
		return clauses
	case w.name == "status" && (c.padded || c.short(w.length)):
		clauses = append(clauses, fmt.Sprintf(`%s TYPE VARCHAR(%d) COLLATE "C" USING status::text`, column, max(16, length)))
	case w.name != "status":
		return []string{fmt.Sprintf(`%s TYPE %s COLLATE "C" USING %s::text`, column, typ, w.name)}
	}
	for _, k := range c.checks {
		clauses = append(clauses, "DROP CONSTRAINT "+quote(k.name),
			fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s OR status IN ('%s'))", quote(k.name), k.text, strings.Join(statusWords, "', '")))
	}
	return clauses
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// alone runs do in a transaction that no other Migrate of this database runs
// beside: it happens as a whole or not at all. The lock goes with the
// transaction, so a pooler that shares sessions does no harm. READ COMMITTED,
// to see what the one before has done.
func (postgresAdopter) alone(ctx context.Context, conn *sql.Conn, _ sqltext.Name, do func(link) error) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('nebis migrate'))`); err != nil {
		return err
	}
	// An ALTER that waits for a long transaction makes everybody else wait
	// behind it.
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = '10s'`); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

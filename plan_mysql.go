package nebis

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// plan returns one statement, because MySQL may copy the whole table for each.
func (a mysqlAdopter) plan(n sqltext.Name, s *shape) ([]string, error) {
	if !s.exists {
		return mysqlSchema(n), nil
	}
	defs := definitions(mysqlSchema(n)[0])
	var clauses []string
	for _, w := range wants {
		switch c := s.column(w.name); {
		case c == nil:
			clauses = append(clauses, "ADD COLUMN "+defs[w.name])
		case w.altered(c):
			clauses = append(clauses, "MODIFY COLUMN "+w.name+" "+mysqlType(w, c)+mysqlRest(w, c))
		}
	}
	if s.guard() == nil {
		clauses = append(clauses, "ADD UNIQUE KEY "+s.free(n.Index("uk"))+" (idem_key, scope, owner)")
	}
	if s.lent() {
		clauses = append(clauses, "ADD UNIQUE KEY "+s.free(n.Index("old"))+" (idem_key, scope)")
	}
	if !s.indexed("expires_at") {
		clauses = append(clauses, "ADD KEY "+s.free(n.Index("idx_expires"))+" (expires_at)")
	}
	for _, x := range s.spent() {
		clauses = append(clauses, "DROP INDEX `"+strings.ReplaceAll(x.name, "`", "``")+"`")
	}
	if s.unsafe {
		clauses = append(clauses, "ENGINE=InnoDB")
	}
	if len(clauses) == 0 {
		return nil, nil
	}
	return []string{"ALTER TABLE " + a.quoted(n) + "\n  " + strings.Join(clauses, ",\n  ")}, nil
}

// mysqlType returns a type that does what w wants and holds what c holds.
func mysqlType(w want, c *column) string {
	length := max(w.length, c.length)
	if strings.HasSuffix(c.typ, "text") || strings.HasSuffix(c.typ, "blob") {
		length = w.length // an index takes none of these whole; strict mode refuses to cut
	}
	switch {
	case w.name == "response" && strings.HasSuffix(c.typ, "blob"):
		return "MEDIUMBLOB"
	case w.name == "response" && c.charset == "":
		return c.typ // only to be made nullable
	case w.name == "response" && c.short(w.length):
		return "MEDIUMTEXT CHARACTER SET utf8mb4"
	case w.name == "response":
		return c.typ + " CHARACTER SET utf8mb4"
	case w.name == "status" && len(c.words) > 0:
		return "ENUM('" + strings.Join(escaped(append(slices.Clone(c.words), c.lacks...)), "','") + "')" + mysqlCharset(c)
	case w.name == "status":
		return fmt.Sprintf("VARCHAR(%d)", max(16, length)) + mysqlCharset(c)
	case c.charset == "" && c.kind == text:
		return fmt.Sprintf("VARBINARY(%d)", length)
	case c.foreign:
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", length)
	}
	// One byte a character also keeps the index below the 767 bytes of MySQL 5.6.
	return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", length)
}

func mysqlCharset(c *column) string {
	if c.charset == "" {
		return ""
	}
	return " CHARACTER SET " + c.charset
}

// mysqlRest returns what of a column's definition stays as it was.
func mysqlRest(w want, c *column) string {
	rest := " NOT NULL"
	if c.nullable || w.name == "response" {
		rest = " NULL"
	}
	switch f := c.fallback; {
	case f == "" && !c.filled, w.name == "response":
	case strings.HasPrefix(f, "'"), strings.HasSuffix(f, ")"):
		rest += " DEFAULT " + f // an expression, as MariaDB writes it
	case f != "" || !c.nullable:
		rest += " DEFAULT '" + strings.ReplaceAll(f, "'", "''") + "'"
	}
	if c.comment != "" && !strings.Contains(c.comment, `\`) {
		rest += " COMMENT '" + strings.ReplaceAll(c.comment, "'", "''") + "'"
	}
	return rest
}

func escaped(words []string) []string {
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "'", "''")
	}
	return words
}

// The session of a migration. Strict: an ALTER fails rather than cut a value.
// Not stricter, as old tables have dates of zeros. And it does not wait for a
// long transaction for ever, because everybody else then waits behind it.
const mysqlSession = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait_timeout = 10`

// alone runs do while no other Migrate of this table runs. DDL ends
// transactions, so a named lock has to do; it belongs to the session, which is
// given up afterwards with all its settings.
func (a mysqlAdopter) alone(ctx context.Context, conn *sql.Conn, n sqltext.Name, do func(link) error) error {
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if _, err := conn.ExecContext(ctx, mysqlSession); err != nil {
		return err
	}
	if n.Schema == "" {
		var schema sql.NullString
		if err := conn.QueryRowContext(ctx, `SELECT DATABASE()`).Scan(&schema); err != nil {
			return err
		}
		n.Schema = schema.String
	}
	lock := fmt.Sprintf("nebis %x", sha256.Sum256([]byte(n.Schema+"."+n.Table)))[:40]
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, lock).Scan(&got); err != nil {
			return err
		}
		if !got.Valid {
			return errors.New("GET_LOCK failed")
		}
		if got.Int64 == 1 {
			break
		}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = conn.ExecContext(ctx, `DO RELEASE_LOCK('`+lock+`')`)
	}()
	return do(conn)
}

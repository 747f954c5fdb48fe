// Package keytable reads a key table as a person wants to see it: which rows are
// there, in which state, how many. It only reads, and works on a table that old
// code has made and Migrate has not seen yet.
package keytable

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/nebis-dev/nebis"
)

// Names are those that a command looks for where none is given, in this order:
// the Store's own, which the gateway has as well, and the demo's.
var Names = []string{"idempotency", "nebis_demo_idempotency"}

// A Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// OutboxNames are the same for the table of an outbox.
var OutboxNames = []string{"outbox", "nebis_demo_outbox"}

// Choose returns the name that was given, or the first of names that is there.
// Where none is, it is the first: whoever looks for it says that it is missing.
func Choose(ctx context.Context, q Querier, d nebis.Dialect, given string, names []string) (string, error) {
	if given != "" {
		return given, nil
	}
	for _, name := range names {
		there, err := There(ctx, q, d, name)
		if err != nil || there {
			return name, err
		}
	}
	return names[0], nil
}

// There reports whether there is a table, or a view, of this name.
func There(ctx context.Context, q Querier, d nebis.Dialect, name string) (bool, error) {
	schema, table := split(name)
	var n int
	var err error
	switch d {
	case nebis.MySQL:
		err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`,
			schema, table).Scan(&n)
	case nebis.Postgres:
		err = q.QueryRowContext(ctx, `SELECT CASE WHEN to_regclass($1) IS NULL THEN 0 ELSE 1 END`, Quoted(d, name)).Scan(&n)
	default:
		master := "sqlite_master"
		if schema != "" {
			master = `"` + schema + `".` + master
		}
		err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+master+` WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE`, table).Scan(&n)
	}
	if err != nil {
		return false, fmt.Errorf("look for the table %s: %w", name, err)
	}
	return n > 0, nil
}

func split(name string) (schema, table string) {
	schema, table, ok := strings.Cut(name, ".")
	if !ok {
		return "", name
	}
	return schema, table
}

// Quoted is a table's name in SQL. It must be one that nebis.New has taken.
func Quoted(d nebis.Dialect, name string) string {
	q := `"`
	if d == nebis.MySQL {
		q = "`"
	}
	return q + strings.ReplaceAll(name, ".", q+"."+q) + q
}

// A Table is a key table as it is, with all the Store's columns or with some.
type Table struct {
	q    Querier
	d    nebis.Dialect
	name string
	has  map[string]bool
}

// Look finds out which columns a table has. An error says that it is not there,
// or cannot be read.
func Look(ctx context.Context, q Querier, d nebis.Dialect, name string) (*Table, error) {
	there, err := There(ctx, q, d, name)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, &MissingError{name}
	}
	rows, err := q.QueryContext(ctx, `SELECT * FROM `+Quoted(d, name)+` WHERE 1 = 0`)
	if err != nil {
		return nil, fmt.Errorf("read the table %s: %w", name, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	t := &Table{q, d, name, map[string]bool{}}
	for _, c := range columns {
		t.has[strings.ToLower(c)] = true
	}
	for _, c := range []string{"id", "idem_key", "scope", "status"} {
		if !t.has[c] {
			return nil, fmt.Errorf("%s has no column %s: it is not a key table, or nebis migrate sql says how it becomes one", name, c)
		}
	}
	return t, rows.Err()
}

// A MissingError says that there is no such table.
type MissingError struct{ Name string }

// Error says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no table %s (or this account may not see it); --table names another, nebis migrate up makes it", e.Name)
}

// On is the same table, read through another connection.
func (t *Table) On(q Querier) *Table {
	other := *t
	other.q = q
	return &other
}

// Name is the table's name, with its schema if one was given.
func (t *Table) Name() string { return t.name }

// Adopted reports whether the table tells leases and expiries: whether Migrate
// has seen it.
func (t *Table) Adopted() bool { return t.has["token"] && t.has["lease_until"] && t.has["expires_at"] }

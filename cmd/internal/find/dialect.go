package find

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis"
)

// dialect is what differs between the databases.
type dialect interface {
	// table reads the shape of a table from the catalogue.
	table(ctx context.Context, tx *sql.Tx, name string) (*table, error)
	// quote makes an identifier of a name.
	quote(name string) string
	// text is a column as text.
	text(c column) string
	// param is the place of an argument of a column's type; n counts from 1.
	param(n int, c column) string
	// arg turns a column's text into an argument.
	arg(c column, text string) any
}

func dialectOf(d nebis.Dialect) dialect {
	switch d {
	case nebis.MySQL:
		return mysqlDialect{}
	case nebis.Postgres:
		return postgresDialect{}
	}
	return sqliteDialect{}
}

// quoted doubles the quotes within a name.
func quoted(name, q string) string { return q + strings.ReplaceAll(name, q, q+q) + q }

// integerArg is text that is an integer as one, for databases that compare text and
// numbers in ways of their own.
func integerArg(c column, text string) any {
	if !c.integer() {
		return text
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	return text
}

// pick finds the table among those that the account sees. A name with a dot may
// be a schema and a table.
func pick(name string, all []string) (int, error) {
	if i, ok := match(name, all); ok {
		return i, nil
	}
	if len(all) == 0 {
		return 0, Mistakef("this account sees no table at all")
	}
	shown := all
	if len(shown) > 20 {
		shown = append(append([]string{}, all[:20]...), fmt.Sprintf("… (%d in all)", len(all)))
	}
	return 0, Mistakef("there is no table %q; there are %s", name, strings.Join(shown, ", "))
}

// rowsOf runs a query and scans every row.
func rowsOf(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// indexer puts the columns of indexes together, as they come row by row.
type indexer struct {
	table *table
	last  string
}

// read reads rows of an index's name, whether it is unique, whether it is the
// primary key, and one column.
func (x *indexer) read(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	return rowsOf(ctx, tx, func(rows *sql.Rows) error {
		var name, col string
		var unique, primary bool
		if err := rows.Scan(&name, &unique, &primary, &col); err != nil {
			return err
		}
		x.add(name, col, unique, primary)
		return nil
	}, query, args...)
}

func (x *indexer) add(name, col string, unique, primary bool) {
	if x.last != name || len(x.table.indexes) == 0 {
		x.table.indexes = append(x.table.indexes, index{unique: unique, primary: primary})
		x.last = name
	}
	ix := &x.table.indexes[len(x.table.indexes)-1]
	ix.columns = append(ix.columns, col)
}

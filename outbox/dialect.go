package outbox

import (
	"cmp"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/sqltext"
)

// A dialect is how one kind of database says what all of them are asked. %s
// stands for a column, ? for an argument.
type dialect struct {
	quote  string // around names
	now    string // the database's clock
	later  string // what it shows after ? microseconds; NULL after NULL
	text   string // a text as an argument
	read   string // a column of text, whatever the charset of the session
	micros string // a column of time, in microseconds since 1970

	schema func(n sqltext.Name) []string
	purge  string // with a %s for the table and %s for which rows

	// One statement that claims and returns what it claimed; with %s for the
	// table, what it sets, which rows, and the columns. Empty: see way.
	take string

	hex      bool // texts are sent in hex
	numbered bool // parameters have numbers

	// To be sent first in a transaction that reads before it writes.
	takeWriter string
}

func dialectOf(d nebis.Dialect) *dialect {
	switch d {
	case nebis.MySQL:
		return mysqlDialect()
	case nebis.Postgres:
		return postgresDialect()
	case nebis.SQLite:
		return sqliteDialect()
	}
	return nil
}

// Schema returns the statements that make the table with its indexes where it is
// missing, separated by semicolons, for people who keep their own migrations. An
// empty table name means "outbox".
func Schema(d nebis.Dialect, table string) (string, error) {
	n, err := parseName(table)
	if err != nil {
		return "", err
	}
	x := dialectOf(d)
	if x == nil {
		return "", fmt.Errorf("outbox: unknown dialect %v", d)
	}
	return strings.Join(x.schema(n), ";\n\n") + ";\n", nil
}

// argument is a text as an argument.
func (d *dialect) argument(s sql.NullString) any {
	if s.Valid && d.hex {
		return hex.EncodeToString([]byte(s.String))
	}
	return s
}

// final numbers the parameters $1, $2, … where the database wants that.
func (d *dialect) final(q string) string {
	if !d.numbered {
		return q
	}
	return sqltext.Numbered(q)
}

// parseName checks a table's name. An empty one is the default.
func parseName(table string) (sqltext.Name, error) {
	n, err := sqltext.ParseName(cmp.Or(table, "outbox"))
	if err != nil {
		return n, fmt.Errorf("outbox: %w", err)
	}
	return n, nil
}

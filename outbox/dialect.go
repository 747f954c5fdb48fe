package outbox

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis"
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

	schema func(n name) []string
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
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(q, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		q = after
	}
}

// A name is a table name, checked, with an optional schema before it.
type name struct{ schema, table string }

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,49}$`)

func parseName(s string) (name, error) {
	if s == "" {
		s = "outbox"
	}
	schema, table, ok := strings.Cut(s, ".")
	if !ok {
		schema, table = "", s
	}
	if !identifier.MatchString(table) || ok && !identifier.MatchString(schema) {
		return name{}, fmt.Errorf("outbox: table name %q: want letters, digits and _, at most 50, optionally with a schema before a dot", s)
	}
	return name{schema, table}, nil
}

// quoted returns the name in the given quotation marks.
func (n name) quoted(q string) string {
	if n.schema == "" {
		return q + n.table + q
	}
	return q + n.schema + q + "." + q + n.table + q
}

// index returns the name of one of the table's indexes.
func (n name) index(suffix string) string { return n.table + "_" + suffix }

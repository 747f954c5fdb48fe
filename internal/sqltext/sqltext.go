// Package sqltext has what all statements of Nebis' tables are written with.
package sqltext

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A Name is a table name, checked, with an optional schema before it.
type Name struct{ Schema, Table string }

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,49}$`)

// ParseName reads a name as people write it.
func ParseName(s string) (Name, error) {
	schema, table, ok := strings.Cut(s, ".")
	if !ok {
		schema, table = "", s
	}
	if !identifier.MatchString(table) || ok && !identifier.MatchString(schema) {
		return Name{}, fmt.Errorf("table name %q: want letters, digits and _, at most 50, optionally with a schema before a dot", s)
	}
	return Name{schema, table}, nil
}

// Quoted returns the name in the given quotation marks.
func (n Name) Quoted(q string) string {
	if n.Schema == "" {
		return q + n.Table + q
	}
	return q + n.Schema + q + "." + q + n.Table + q
}

// Index returns the name of one of the table's indexes.
func (n Name) Index(suffix string) string { return n.Table + "_" + suffix }

// Numbered names the parameters $1, $2, … where they are ?.
func Numbered(q string) string {
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

const maxError = 500 // characters

// Error is a text for a column error: short, and of characters that every table
// takes.
func Error(s string) sql.NullString {
	n := 0
	s = strings.Map(func(r rune) rune {
		n++
		switch {
		case n > maxError:
			return -1
		case r > 0xFFFF || unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return sql.NullString{String: s, Valid: s != ""}
}

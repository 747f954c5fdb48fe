package nebis

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Duplicate reports whether err says that a row was refused because the unique
// index named index has one like it already: for light tables that have a unique
// index of their own and need no key table. It is false for every other unique
// index, a foreign key, a check, a NOT NULL, and for nil.
//
//	if nebis.Duplicate(err, "orders_key", "orders.owner", "orders.idem_key") {
//		… roll back, then read the first row …
//	}
//
// MySQL, MariaDB and PostgreSQL name the index, SQLite its columns instead: columns
// lists them as table.column, in the order of the index. With columns, an index of
// the same name on another table is told apart on MySQL from 8.0.19 on; MariaDB and
// older servers do not name the table, so give the index a name of its own. Names
// are compared as the database stores them. Nothing that a client sent can make it
// true.
//
// It knows the errors of go-sql-driver/mysql, pgx, lib/pq, modernc.org/sqlite and
// mattn/go-sqlite3, also wrapped. What to do then is in docs/unique-column.md: on
// PostgreSQL, for one, the transaction is aborted.
func Duplicate(err error, index string, columns ...string) bool {
	if err == nil || index == "" {
		return false
	}
	if refusedBy(err, index, columns) {
		return true
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(several.Unwrap(), func(err error) bool { return Duplicate(err, index, columns...) })
	}
	return Duplicate(errors.Unwrap(err), index, columns...)
}

// refusedBy looks at one error, which is a driver's if it has what theirs have: the
// package imports none of them.
func refusedBy(err error, index string, columns []string) bool {
	fields := reflect.Indirect(reflect.ValueOf(err))
	if fields.Kind() != reflect.Struct {
		return false
	}
	if e, ok := err.(interface{ SQLState() string }); ok { // pgx, lib/pq
		return e.SQLState() == "23505" && (textOf(fields, "ConstraintName") == index || textOf(fields, "Constraint") == index)
	}
	switch codeOf(err, fields) {
	case 1062: // ER_DUP_ENTRY
		return endsWithKey(textOf(fields, "Message"), index, columns)
	case 2067, 1555: // SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY
		return namesColumns(err.Error(), index, columns)
	}
	return false
}

// textOf is a field of a driver's error, "" if there is none of that name.
func textOf(fields reflect.Value, name string) string {
	if f := fields.FieldByName(name); f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}

// codeOf is the code of an error of MySQL or SQLite.
func codeOf(err error, fields reflect.Value) int64 {
	if e, ok := err.(interface{ Code() int }); ok { // modernc.org/sqlite
		return int64(e.Code())
	}
	if f := fields.FieldByName("ExtendedCode"); f.CanInt() { // mattn/go-sqlite3
		return f.Int()
	}
	if f := fields.FieldByName("Number"); f.CanUint() { // go-sql-driver/mysql
		return int64(f.Uint())
	}
	return 0
}

// endsWithKey reads "Duplicate entry 'what was sent' for key 'index'". What was sent
// may hold anything, quotes and all of this text; behind it the server writes the
// name, and nothing more.
func endsWithKey(message, index string, columns []string) bool {
	if strings.HasSuffix(message, "'"+index+"'") {
		return true
	}
	if len(columns) == 0 {
		return strings.HasSuffix(message, "."+index+"'")
	}
	return strings.HasSuffix(message, "'"+tableOf(columns[0])+"."+index+"'")
}

func tableOf(column string) string {
	return column[:max(strings.LastIndexByte(column, '.'), 0)]
}

// namesColumns reads "UNIQUE constraint failed: table.column, table.column", which
// has nothing in it that was sent. An index of expressions is named.
func namesColumns(message, index string, columns []string) bool {
	_, what, _ := strings.Cut(message, "UNIQUE constraint failed: ")
	for _, code := range []int{2067, 1555} {
		what = strings.TrimSuffix(what, fmt.Sprintf(" (%d)", code)) // modernc.org/sqlite
	}
	return what == "index '"+strings.ReplaceAll(index, "'", "''")+"'" ||
		len(columns) > 0 && what == strings.Join(columns, ", ")
}

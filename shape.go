package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// A shape is what a table looks like, in the words of no particular database.
type shape struct {
	exists   bool
	notTable string // what it is instead: a view, say
	schema   string // where the database found it
	engine   string // how it is kept: MyISAM, unlogged; where that can differ
	unsafe   bool   // kept without transactions, or lost in a crash
	numbered bool   // rows have their id by an index, as always on MySQL and SQLite
	columns  []column
	indexes  []index
	taken    []string // names that a new index cannot have
	rows     rows

	definition string  // SQLite: the text of its CREATE TABLE
	attached   []named // SQLite: its indexes and triggers
	referenced string  // SQLite: a table with a foreign key to this one
}

// rows is what the rows of a table tell about its past.
type rows struct {
	any       bool
	old       bool // there are some without a token, asked only while there is an old index
	unstamped bool // there are some without a token and without an expiry
	twice     bool // a key and scope stand in two, asked only while no index forbids it
}

// A kind is a family of column types.
type kind int

const (
	alien  kind = iota // nothing that the Store could work with
	text               // characters, or bytes where the database compares them with characters
	label              // an enum, a UUID: converts to text without loss
	number             // whole numbers
	moment             // date and time
)

type column struct {
	name     string // in lower case
	typ      string // as the database writes it
	kind     kind
	length   int64 // characters that it can hold; 0: no limit
	exact    bool  // compares byte by byte, but for blanks at the end
	padded   bool  // reads with blanks at the end
	nullable bool
	filled   bool     // the database fills it when an INSERT does not
	fallback string   // its default, as an SQL expression; "" is none
	lacks    []string // status: the words that it cannot hold
	foreign  bool     // MySQL: its values are not all ASCII
	charset  string   // MySQL
	words    []string // MySQL: the values of an ENUM
	comment  string   // MySQL
	checks   []named  // PostgreSQL: constraints of status that refuse a word of it
	numeric  bool     // SQLite: makes a number of a text that looks like one
	computed bool     // SQLite: a generated column
}

// named is a piece of SQL with a name.
type named struct{ name, text string }

type index struct {
	name       string
	columns    []string // in lower case; "" is an expression
	unique     bool
	primary    bool
	partial    bool // has a condition, or covers the beginning of a column only
	folds      bool // SQLite: compares with another collation than BINARY
	invalid    bool // an interrupted CREATE INDEX CONCURRENTLY
	deferred   bool // judges at COMMIT
	constraint bool // goes with its constraint only
}

// A link is a connection, or a transaction on it.
type link interface {
	querier
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func (s *shape) column(name string) *column {
	for i := range s.columns {
		if s.columns[i].name == name {
			return &s.columns[i]
		}
	}
	return nil
}

// adopted reports whether the table has all the columns of a Store's.
func (s *shape) adopted() bool {
	for _, w := range wants {
		if s.column(w.name) == nil {
			return false
		}
	}
	return s.exists
}

// guard returns the unique index that the promise rests on, or nil. Key and
// scope come first in it: the Store reads by them.
func (s *shape) guard() *index {
	for i, x := range s.indexes {
		if x.unique && !x.partial && !x.folds && !x.invalid && !x.deferred && len(x.columns) == 3 &&
			x.within("idem_key", "scope", "owner") && x.columns[2] == "owner" {
			return &s.indexes[i]
		}
	}
	return nil
}

// old returns the unique indexes of code that knew no owners.
func (s *shape) old() []index {
	return slices.DeleteFunc(slices.Clone(s.indexes), func(x index) bool {
		return !x.unique || x.primary || x.invalid || !x.within("idem_key", "scope")
	})
}

// blocked reports whether an old row holds its key for every owner.
func (s *shape) blocked() bool {
	return slices.ContainsFunc(s.indexes, func(x index) bool {
		return x.unique && !x.partial && !x.invalid && x.within("idem_key", "scope")
	})
}

// lent reports whether the table needs an index as old tables have it, which
// this one has not: to be dropped like one when the old rows are gone.
func (s *shape) lent() bool { return s.exists && !s.adopted() && !s.blocked() }

// spent returns the old indexes that have nothing left to guard. The run that
// takes a table over leaves them: the old code, still running, may have no row
// just now.
func (s *shape) spent() []index {
	if !s.adopted() || s.rows.old {
		return nil
	}
	return s.old()
}

// broken returns unique indexes of ours that a CREATE INDEX CONCURRENTLY left
// half made.
func (s *shape) broken() []index {
	return slices.DeleteFunc(slices.Clone(s.indexes), func(x index) bool {
		return !x.invalid || !x.unique || !x.within("idem_key", "scope", "owner")
	})
}

// indexed reports whether an index finds rows by this column.
func (s *shape) indexed(column string) bool {
	return slices.ContainsFunc(s.indexes, func(x index) bool {
		return !x.partial && !x.invalid && x.columns[0] == column
	})
}

// free returns the first of an index's names that is free.
func (s *shape) free(name string) string {
	for n, try := 2, name; ; n++ {
		if !slices.Contains(s.taken, try) {
			return try
		}
		try = fmt.Sprintf("%s%d", name, n)
	}
}

// within reports whether the index is on some of these columns, once each, and
// on no other.
func (x index) within(columns ...string) bool {
	for i, c := range x.columns {
		if !slices.Contains(columns, c) || slices.Contains(x.columns[:i], c) {
			return false
		}
	}
	return len(x.columns) > 0
}

// askRows looks for the rows of old code. t is the table's name, quoted.
func (s *shape) askRows(ctx context.Context, q querier, t string) (err error) {
	if !s.exists || s.notTable != "" {
		return nil
	}
	if s.rows.any, err = found(ctx, q, `SELECT 1 FROM `+t); err != nil || !s.rows.any {
		return err
	}
	s.rows.old, s.rows.unstamped = true, true
	if s.column("token") != nil && s.column("expires_at") != nil {
		if s.rows.unstamped, err = found(ctx, q, `SELECT 1 FROM `+t+` WHERE expires_at IS NULL AND token IS NULL`); err != nil {
			return err
		}
		// No index is on token: without an old index nobody needs to know.
		s.rows.old = false
		if len(s.old()) > 0 {
			s.rows.old, err = found(ctx, q, `SELECT 1 FROM `+t+` WHERE token IS NULL`)
		}
	}
	if err == nil && s.guard() == nil && !s.blocked() && s.column("idem_key") != nil && s.column("scope") != nil {
		s.rows.twice, err = found(ctx, q, `SELECT 1 FROM `+t+` WHERE idem_key IS NOT NULL AND scope IS NOT NULL GROUP BY `+s.groups()+` HAVING COUNT(*) > 1`)
	}
	return err
}

// groups is what a unique index over the rows would go by.
func (s *shape) groups() string {
	if s.column("owner") == nil {
		return "idem_key, scope"
	}
	return "idem_key, scope, owner"
}

func found(ctx context.Context, q querier, query string) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM (`+query+` LIMIT 1) AS x`).Scan(&n)
	return n > 0, err
}

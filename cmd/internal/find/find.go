// Package find looks through a table for rows that are the same but for their
// id, each written soon after the one before it.
//
// It never writes: every read is a small one within a read-only transaction of
// its own, so that neither a lock nor an old snapshot stays behind, and an
// account that may only SELECT is enough.
package find

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Options say what to look for; only Table is required.
type Options struct {
	Table    string
	Same     []string       // columns that must agree. Defaults to a proposal from the table's shape
	At       string         // column with the time. Defaults to a proposal
	Within   time.Duration  // how soon the next row comes, inclusive. Defaults to 5 s
	ID       []string       // columns that name a row. Defaults to the primary key
	Sum      string         // column to add up over the surplus rows
	Where    string         // a condition in the database's SQL
	Since    time.Time      // earlier rows do not count
	Location *time.Location // of times without a zone. Defaults to UTC on SQLite, else this computer's
	Pause    time.Duration  // after every read; negative is three times as long as the read took
	Page     int            // rows a read. Defaults to 2,000
	Full     bool           // with the ids of the rows

	Warn     func(string)       // told before a large table is read without an index
	Lang     report.Lang        // of what Warn is told. Defaults to English
	Progress func(rows, of int) // told after every read
}

// Defaults of Options.
const (
	Window   = 5 * time.Second
	pageRows = 2000
)

// Mistake is an error in what was asked for.
type Mistake struct{ err error }

// Error says what is wrong, and what there is instead.
func (m *Mistake) Error() string { return m.err.Error() }

// Unwrap returns what the database said, if it did.
func (m *Mistake) Unwrap() error { return m.err }

// Mistakef makes a Mistake, as fmt.Errorf makes an error.
func Mistakef(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }

// finder is one search.
type finder struct {
	opts   Options
	db     *sql.DB
	sql    dialect
	table  *table
	at     column
	same   []column
	id     []column
	sum    *column
	result *Result
}

// Run searches one table. An error means that there is no result.
func Run(ctx context.Context, target dburl.Target, opts *Options) (*Result, error) {
	f := &finder{opts: *opts, sql: dialectOf(target.Dialect)}
	f.opts.defaults(target.Dialect)
	if err := checkWhere(f.opts.Where, target.Dialect); err != nil {
		return nil, err
	}
	db, err := Open(target)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	f.db = db
	if err := f.prepare(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	if err := f.search(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	return f.result, nil
}

func (o *Options) defaults(d nebis.Dialect) {
	if o.Within == 0 {
		o.Within = Window
	}
	if o.Page <= 0 {
		o.Page = pageRows
	}
	if !o.Since.IsZero() && o.Since.UnixMicro() < earliest {
		o.Since = time.UnixMicro(earliest)
	}
	if o.Location == nil {
		o.Location = time.Local
		if d == nebis.SQLite {
			o.Location = time.UTC
		}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
}

// prepare learns the table's shape and settles the columns.
func (f *finder) prepare(ctx context.Context) error {
	err := f.readOnly(ctx, func(tx *sql.Tx) (err error) {
		f.table, err = f.sql.table(ctx, tx, f.opts.Table)
		return err
	})
	if err != nil {
		return err
	}
	if len(f.table.columns) == 0 {
		return Mistakef("%s shows this account no columns: it may not read it, or it is a view that does not work or writes", f.table.name)
	}
	f.result = newResult(f)
	return f.choose()
}

// choose settles the columns: those that were named, which must be the
// table's, else those that its shape suggests.
func (f *finder) choose() error {
	var err error
	if f.at, err = f.chooseAt(); err != nil {
		return err
	}
	if f.same, err = f.chooseSame(); err != nil {
		return err
	}
	if f.id, err = f.table.named(f.opts.ID); err != nil {
		return err
	}
	if len(f.id) == 0 {
		f.id = f.table.key
	}
	if f.opts.Sum != "" {
		sum, err := f.table.named([]string{f.opts.Sum})
		if err != nil {
			return err
		}
		f.sum = &sum[0]
	}
	f.result.At, f.result.Same, f.result.Sum = f.at.name, names(f.same), f.opts.Sum
	return nil
}

func (f *finder) chooseAt() (column, error) {
	if f.opts.At != "" {
		c, err := f.table.named([]string{f.opts.At})
		if err != nil {
			return column{}, err
		}
		return c[0], nil
	}
	c, ok := proposeAt(f.table)
	if !ok {
		return column{}, Mistakef("no column of %s looks like the time when a row was made: name it with --at", f.table.name)
	}
	f.result.ProposedAt = true
	return c, nil
}

func (f *finder) chooseSame() ([]column, error) {
	if len(f.opts.Same) > 0 {
		return f.table.named(f.opts.Same)
	}
	same, left := proposeSame(f.table, f.at)
	if len(same) == 0 {
		return nil, Mistakef("no column of %s tells what would be the same in a duplicate: name some with --same", f.table.name)
	}
	f.result.Proposed, f.result.LeftOut = true, left
	return same, nil
}

func (f *finder) readOnly(ctx context.Context, read func(*sql.Tx) error) error {
	return ReadOnly(ctx, f.db, read)
}

// A Beginner is a pool or a connection.
type Beginner interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}

// ReadOnly runs one read in a transaction of its own that cannot write.
func ReadOnly(ctx context.Context, db Beginner, read func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := read(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// ErrTooMany is a table that cannot be read in the order of time, and is too
// large to be held in memory.
var ErrTooMany = errors.New("the ids of this table are not in the order of time, and it has too many rows to be held in memory: narrow it with --where, or use --since and an index on the column of --at")

package find

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// largeTable is the number of rows from which on it is said beforehand that all
// of them must be read.
const largeTable = 1_000_000

// readOrder is how the table is read.
type readOrder struct {
	columns []column // none: in one go, as the database gives them
	since   string   // where to begin, as a value of the column with the time
	hold    bool     // neither the time nor nearly so
}

// search reads the whole table, or from Since on.
func (f *finder) search(ctx context.Context) error {
	r, err := f.plan(ctx)
	if err != nil {
		return err
	}
	f.warn(r)
	s := &search{
		finder: f, order: r, seed: maphash.MakeSeed(),
		timer:   timer{loc: f.opts.Location, utc: strings.HasPrefix(f.at.full, "timestamp") && f.isMySQL()},
		tracker: newTracker(f.opts.Within, r.hold, f.result),
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.tracker.sweep(true)
	return f.result.finish(s)
}

// isMySQL: its TIMESTAMP has a zone, that of the session.
func (f *finder) isMySQL() bool { _, is := f.sql.(mysqlDialect); return is }

// isSQLite: it has no type for times.
func (f *finder) isSQLite() bool { _, is := f.sql.(sqliteDialect); return is }

// plan reads by the time where that saves something, else by the key.
func (f *finder) plan(ctx context.Context) (readOrder, error) {
	key := f.table.page
	r := readOrder{columns: key, hold: len(key) != 1 || !key[0].integer()}
	if f.opts.Since.IsZero() || len(key) == 0 || !f.table.indexed(f.at) {
		return r, nil
	}
	since, err := f.sinceValue(ctx)
	if err != nil || since == "" {
		return r, err
	}
	r = readOrder{columns: []column{f.at}, since: since}
	for _, c := range key {
		if c.name != f.at.name {
			r.columns = append(r.columns, c)
		}
	}
	return r, nil
}

// sinceValue writes Since as the column has its times; empty where it cannot be
// compared. An hour too early does no harm, and the clock may have changed.
func (f *finder) sinceValue(ctx context.Context) (string, error) {
	from := f.opts.Since.Add(-time.Hour)
	switch {
	case f.at.integer():
		per, err := f.unit(ctx)
		if per == 0 || err != nil {
			return "", err
		}
		return strconv.FormatInt(from.Unix()*per, 10), nil
	case !f.at.timed() || f.isSQLite():
		return "", nil // text is compared as text
	case strings.HasSuffix(f.at.typ, "with time zone") || f.isMySQL() && f.at.typ == "timestamp":
		return from.UTC().Format("2006-01-02 15:04:05Z07:00")[:19] + f.utcSuffix(), nil
	}
	return from.In(f.opts.Location).Format(time.DateTime), nil
}

func (f *finder) utcSuffix() string {
	if f.isMySQL() {
		return ""
	}
	return "+00"
}

// unit looks at the two ends of the column; 0 is no unit, or more than one.
func (f *finder) unit(ctx context.Context) (int64, error) {
	at := f.sql.quote(f.at.name)
	var ends [2]sql.NullString // SQLite keeps text in a column of integers
	err := f.readOnly(ctx, func(tx *sql.Tx) error {
		for i, end := range []string{"MIN", "MAX"} {
			q := "SELECT " + end + "(" + at + ") FROM " + f.from() + " WHERE " + at + " > 0"
			if err := tx.QueryRowContext(ctx, q).Scan(&ends[i]); err != nil {
				return err
			}
		}
		return nil
	})
	least, err1 := strconv.ParseInt(ends[0].String, 10, 64)
	most, err2 := strconv.ParseInt(ends[1].String, 10, 64)
	if err1 != nil || err2 != nil || unit(least) != unit(most) {
		return 0, err
	}
	return unit(most), err
}

func (f *finder) warn(r readOrder) {
	l := f.opts.Lang
	switch {
	case f.table.rows < largeTable || f.table.indexed(f.at):
	case len(r.columns) == 0:
		f.opts.Warn(fmt.Sprintf(l.Of("%s has about %s rows and no key to read it by: it is read in one go", "%s 表约有 %s 条记录，又没有可以分段读取的键：将一次读完"),
			f.table.name, report.Count(f.table.rows)))
	default:
		f.opts.Warn(fmt.Sprintf(l.Of("%s has about %s rows and no index on %s: all of them are read, %d at a time; stop it at any time, or give more --pause",
			"%s 表约有 %s 条记录，%s 列上没有索引：要全部读一遍，每次 %d 条；随时可以中止，也可以把 --pause 调大"),
			f.table.name, report.Count(f.table.rows), f.at.name, f.opts.Page))
	}
}

// search is the reading itself.
type search struct {
	*finder
	order   readOrder
	seed    maphash.Seed
	timer   timer
	tracker *tracker

	values  []sql.RawBytes
	scratch []byte
	cursor  []string
	rows    int // in the last read
}

func (s *search) run(ctx context.Context) error {
	s.values = make([]sql.RawBytes, len(s.selected(s.order)))
	for {
		began := time.Now()
		to, err := s.bound(ctx)
		if err != nil {
			return err
		}
		more, err := s.readPage(ctx, to)
		if err != nil {
			return explain(err)
		}
		s.opts.Progress(s.result.Rows, s.table.rows)
		if !more {
			return nil
		}
		if err := s.pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// bound finds the end of the range to read; nil is the table's end, or no need.
func (s *search) bound(ctx context.Context) ([]string, error) {
	if s.opts.Where == "" || len(s.order.columns) == 0 {
		return nil, nil
	}
	values := make([]string, len(s.order.columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	q := s.boundQuery(s.order, s.cursor)
	err := s.readOnly(ctx, func(tx *sql.Tx) error { return tx.QueryRowContext(ctx, q.sql, q.args...).Scan(into...) })
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return values, err
}

// readPage reads one range, and tells whether there is another.
func (s *search) readPage(ctx context.Context, to []string) (bool, error) {
	s.rows = 0
	q := s.pageQuery(s.order, s.cursor, to)
	into := make([]any, len(s.values))
	for i := range s.values {
		into[i] = &s.values[i]
	}
	err := s.readOnly(ctx, func(tx *sql.Tx) error {
		return rowsOf(ctx, tx, func(rows *sql.Rows) error {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			return s.take()
		}, q.sql, q.args...)
	})
	if to != nil {
		s.cursor = to
		return true, err
	}
	return s.rows == s.opts.Page && len(s.order.columns) > 0 && s.opts.Where == "", err
}

// take looks at the row that was just read.
func (s *search) take() error {
	s.rows++
	s.result.Rows++
	cursor, rest := s.values[:len(s.order.columns)], s.values[len(s.order.columns):]
	if s.rows == s.opts.Page {
		s.cursor = s.cursor[:0:0]
		for _, v := range cursor {
			s.cursor = append(s.cursor, string(v))
		}
	}
	at, ok := s.timer.parse(string(rest[0]))
	if !ok {
		s.result.Timeless++
		return nil
	}
	if at < s.opts.Since.UnixMicro() && !s.opts.Since.IsZero() {
		s.result.Earlier++
		return nil
	}
	s.result.span(at)
	rest = rest[1:]
	r := row{at: at, id: shown(rest[len(s.same) : len(s.same)+len(s.id)])}
	if s.sum != nil {
		r.amount = string(rest[len(rest)-1])
	}
	return s.tracker.add(s.hash(rest[:len(s.same)]), r)
}

// hash tells NULL from an empty text, and where one column ends.
func (s *search) hash(values []sql.RawBytes) uint64 {
	b := s.scratch[:0]
	for _, v := range values {
		if v == nil {
			b = append(b, '-')
			continue
		}
		b = append(strconv.AppendInt(b, int64(len(v)), 10), ':')
		b = append(b, v...)
	}
	s.scratch = b
	return maphash.Bytes(s.seed, b)
}

// shown writes an id for people; one that is no text in hexadecimal.
func shown(values []sql.RawBytes) string {
	if len(values) == 1 && utf8.Valid(values[0]) {
		return string(values[0])
	}
	var parts []string
	for _, v := range values {
		if utf8.Valid(v) {
			parts = append(parts, string(v))
		} else {
			parts = append(parts, hex.EncodeToString(v))
		}
	}
	return strings.Join(parts, "/")
}

// pauseFactor leaves the database to the shop for three quarters of the time.
const pauseFactor = 3

// pause gives the shop more time than the read took from it.
func (s *search) pause(ctx context.Context, took time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.opts.rest(took)):
		return nil
	}
}

func (o *Options) rest(took time.Duration) time.Duration {
	if o.Pause < 0 {
		return pauseFactor * took
	}
	return o.Pause
}

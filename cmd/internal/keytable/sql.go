package keytable

import (
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/sqltext"
)

// Now is the database's clock. On PostgreSQL it stands still during a statement: an
// index is of no use to compare with one that does not.
func Now(d nebis.Dialect) string {
	switch d {
	case nebis.MySQL:
		return `UTC_TIMESTAMP(6)`
	case nebis.Postgres:
		return `statement_timestamp()`
	}
	return `strftime('%Y-%m-%d %H:%M:%f', 'now')`
}

func (t *Table) now() string { return Now(t.d) }

// ago is the database's clock some time before.
func (t *Table) ago(d time.Duration) string {
	switch t.d {
	case nebis.MySQL:
		return fmt.Sprintf(`UTC_TIMESTAMP(6) - INTERVAL %d MICROSECOND`, d.Microseconds())
	case nebis.Postgres:
		return fmt.Sprintf(`statement_timestamp() - %d * interval '1 microsecond'`, d.Microseconds())
	}
	return fmt.Sprintf(`strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+.3f seconds')`, -d.Seconds())
}

// at is a moment as the table writes it.
func (t *Table) at(m time.Time) string {
	text := m.UTC().Format("2006-01-02 15:04:05.000000")
	switch t.d {
	case nebis.MySQL:
		return `'` + text + `'`
	case nebis.Postgres:
		return `TIMESTAMPTZ '` + text + `+00'`
	}
	return `'` + text[:len(text)-3] + `'`
}

// Micros is a time in microseconds since 1970, which every driver reads the same.
func Micros(d nebis.Dialect, t string) string {
	switch d {
	case nebis.MySQL:
		return `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ` + t + `)`
	case nebis.Postgres:
		return `(EXTRACT(EPOCH FROM ` + t + `) * 1000000)::bigint`
	}
	return `CAST(ROUND((julianday(` + t + `) - 2440587.5) * 86400000) * 1000 AS INTEGER)`
}

// micros is a column in microseconds, NULL where the table has no such column.
func (t *Table) micros(column string) string {
	if !t.has[column] {
		return `NULL`
	}
	return Micros(t.d, column)
}

// column is a column, or what stands for it where the table has none.
func (t *Table) column(name, without string) string {
	if !t.has[name] {
		return without
	}
	return name
}

func (t *Table) status() string {
	if t.d == nebis.Postgres { // an enum may lack a word, and does not compare with it
		return `status::text`
	}
	return `status`
}

// token is NULL in the rows of old code.
func (t *Table) token() string { return t.column("token", "NULL") }

// over is 1 where the time that an answer is kept has passed.
func (t *Table) over() string {
	return `CASE WHEN ` + t.column("expires_at", "NULL") + ` <= ` + t.now() + ` THEN 1 ELSE 0 END`
}

func (t *Table) expired() string {
	if !t.has["expires_at"] {
		return `1 = 0`
	}
	gone := `expires_at <= ` + t.now() + ` AND (` + t.status() + ` = 'done' OR ` + t.token() + ` IS NULL)`
	if t.has["lease_until"] { // of a row that is done: until when the key is remembered
		gone += ` AND (` + t.status() + ` <> 'done' OR COALESCE(lease_until, expires_at) <= ` + t.now() + `)`
	}
	return gone
}

// state is the row's state in the words of nebis.State.
func (t *Table) state() string {
	runs := t.token() + ` IS NULL`
	if t.has["lease_until"] {
		runs += ` OR lease_until > ` + t.now()
	}
	return `CASE WHEN ` + t.status() + ` = 'failed' THEN 'free' WHEN ` + t.expired() + ` THEN 'expired' WHEN ` +
		t.status() + ` = 'done' THEN 'done' WHEN ` + runs + ` THEN 'in progress' ELSE 'unknown' END`
}

// open is the condition that a row's claim is no lease and not done: its transaction
// has not ended.
func (t *Table) open() string {
	return t.status() + ` = 'processing' AND ` + t.token() + ` IS NOT NULL AND ` + t.column("lease_until", "NULL") + ` IS NULL`
}

// bind writes the placeholders as the database wants them.
func (t *Table) bind(query string) string {
	if t.d != nebis.Postgres {
		return query
	}
	return sqltext.Numbered(query)
}

func (t *Table) quoted() string { return Quoted(t.d, t.name) }

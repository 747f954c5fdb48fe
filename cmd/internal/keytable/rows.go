package keytable

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// What is asked again and again takes a bounded time, whatever the table's size.

// Size returns how many rows there are: exactly up to most, and above that what the
// database estimates, which may be far off.
func (t *Table) Size(ctx context.Context, most int64) (int64, error) {
	about, err := t.estimate(ctx)
	if err != nil || about > 10*most {
		return about, err
	}
	var n int64
	// The newest: what has been removed and not yet forgotten lies at the old end.
	err = t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT id FROM %s ORDER BY id DESC LIMIT %d) AS x`, t.quoted(), most)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", t.name, err)
	}
	if n == most {
		n = max(n, about)
	}
	return n, nil
}

// estimate asks the statistics; SQLite has none, so there it is the span of the ids.
func (t *Table) estimate(ctx context.Context) (int64, error) {
	schema, table := split(t.name)
	var n sql.NullFloat64
	var err error
	switch t.d {
	case nebis.MySQL:
		err = t.q.QueryRowContext(ctx, `SELECT table_rows FROM information_schema.tables WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`,
			schema, table).Scan(&n)
	case nebis.Postgres:
		err = t.q.QueryRowContext(ctx, `SELECT CASE WHEN pg_stat_get_live_tuples(oid) > 0 THEN pg_stat_get_live_tuples(oid) ELSE reltuples END FROM pg_class WHERE oid = to_regclass($1)`,
			t.quoted()).Scan(&n)
	default:
		err = t.q.QueryRowContext(ctx, `SELECT (SELECT MAX(id) FROM `+t.quoted()+`) - (SELECT MIN(id) FROM `+t.quoted()+`) + 1`).Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("read the statistics of %s: %w", t.name, err)
	}
	return max(int64(n.Float64), 0), nil
}

// Expired returns how many rows wait for clean-up, counted up to most, and for how
// long the first of them has.
func (t *Table) Expired(ctx context.Context, most int64) (n int64, lag time.Duration, err error) {
	if !t.has["expires_at"] {
		return 0, 0, nil
	}
	var first, now sql.NullInt64
	err = t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*), %s, %s FROM (
  SELECT expires_at FROM %s WHERE expires_at <= %s AND (%s <> 'processing' OR %s IS NULL) ORDER BY expires_at LIMIT %d) AS x`,
		Micros(t.d, "MIN(expires_at)"), Micros(t.d, t.now()), t.quoted(), t.now(), t.status(), t.token(), most)).Scan(&n, &first, &now)
	if err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", t.name, err)
	}
	if first.Valid {
		lag = time.Duration(now.Int64-first.Int64) * time.Microsecond
	}
	return n, lag, nil
}

// UnfinishedAfter is Unfinished below an id; 0: from the newest on.
func (t *Table) UnfinishedAfter(ctx context.Context, after int64, limit int, budget time.Duration) (*Page, error) {
	return t.Find(ctx, Query{Filter: Filter{unfinished: true}, After: after, Limit: limit, Budget: budget})
}

// An Unfinished row is in progress, or its outcome is unknown.
type Unfinished struct {
	ID    int64
	State nebis.State
	Age   time.Duration // since it was claimed; 0: the table does not tell
	Open  bool          // the transaction that has claimed it has not ended: seen at READ UNCOMMITTED
}

// StillUnfinished returns those of the rows that are in progress or unknown.
func (t *Table) StillUnfinished(ctx context.Context, ids []int64) ([]Unfinished, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	rows, err := t.q.QueryContext(ctx, fmt.Sprintf(`SELECT id, %s, %s - %s, CASE WHEN %s THEN 1 ELSE 0 END FROM %s WHERE id IN (%s) AND %[1]s IN ('in progress', 'unknown')`,
		t.state(), Micros(t.d, t.now()), t.micros("created_at"), t.open(), t.quoted(), strings.Join(list, ", ")))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	var all []Unfinished
	for rows.Next() {
		var o Unfinished
		var micros sql.NullInt64
		if err := rows.Scan(&o.ID, &o.State, &micros, &o.Open); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		o.Age = max(time.Duration(micros.Int64)*time.Microsecond, 0)
		all = append(all, o)
	}
	return all, rows.Err()
}

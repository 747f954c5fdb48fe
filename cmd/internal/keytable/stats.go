package keytable

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// Stats is what a key table has in it.
type Stats struct {
	Rows   int64   `json:"rows"`
	About  bool    `json:"about"` // estimated from a sample: the table is large
	Groups []Group `json:"groups"`
	Bytes  int64   `json:"bytes"` // table and indexes; 0: it cannot be told
	Whole  bool    `json:"bytes_of_whole_file"`

	Expired   int64 `json:"expired"`   // wait for clean-up
	Lagging   int64 `json:"lagging"`   // have done so for more than a day
	Unstamped bool  `json:"no_expiry"` // old code's rows without an expiry
	AtLeast   bool  `json:"expired_at_least"`
}

// A Group is how many rows of a scope are in a state.
type Group struct {
	Scope string      `json:"scope"`
	State nebis.State `json:"state"`
	Rows  int64       `json:"rows"`
}

// What is counted at most; more is estimated. A table of ten million rows takes no
// longer than one of this many.
const (
	counted = 200000
	samples = 100
	enough  = 100000 // expired rows
)

// Stats counts what can be counted in bounded time, and estimates the rest.
func (t *Table) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{Groups: []Group{}}
	for _, step := range []func(context.Context, *Stats) error{t.countAll, t.countExpired, t.weigh} {
		if err := step(ctx, s); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
	}
	s.leaveOutOwn()
	return s, nil
}

func (t *Table) countAll(ctx context.Context, s *Stats) error {
	err := t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT id FROM %s LIMIT %d) AS x`, t.quoted(), counted+1)).Scan(&s.Rows)
	if err != nil {
		return err
	}
	if s.Rows <= counted {
		err := t.group(ctx, s, `1 = 1`)
		s.sort()
		return err
	}
	s.About = true
	return t.sample(ctx, s)
}

// sample counts the rows of some windows, spread evenly over the ids, and takes
// them for the whole.
func (t *Table) sample(ctx context.Context, s *Stats) error {
	var first, last int64
	if err := t.q.QueryRowContext(ctx, `SELECT MIN(id), MAX(id) FROM `+t.quoted()).Scan(&first, &last); err != nil {
		return err
	}
	var rows, span int64
	after := first - 1
	for i := range int64(samples) {
		after = max(after, first-1+(last-first)/samples*i)
		end, n, err := t.window(ctx, after)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if err := t.group(ctx, s, fmt.Sprintf(`id > %d AND id <= %d`, after, end)); err != nil {
			return err
		}
		rows, span, after = rows+n, span+end-after, end
	}
	if rows == 0 || span == 0 {
		return errors.New("its rows went away")
	}
	s.Rows = int64(float64(rows) / float64(span) * float64(last-first+1))
	for i := range s.Groups {
		s.Groups[i].Rows = int64(float64(s.Groups[i].Rows) / float64(rows) * float64(s.Rows))
	}
	s.sort()
	return nil
}

func (t *Table) window(ctx context.Context, after int64) (end, n int64, err error) {
	var last sql.NullInt64
	err = t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT MAX(id), COUNT(*) FROM (SELECT id FROM %s WHERE id > %d ORDER BY id LIMIT %d) AS x`,
		t.quoted(), after, counted/samples)).Scan(&last, &n)
	return last.Int64, n, err
}

// group counts rows by scope and state into s.
func (t *Table) group(ctx context.Context, s *Stats, where string) error {
	rows, err := t.q.QueryContext(ctx, fmt.Sprintf(`SELECT scope, state, COUNT(*) FROM (SELECT scope, %s AS state FROM %s WHERE %s LIMIT %d) AS x GROUP BY scope, state`,
		t.state(), t.quoted(), where, counted))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var g Group
		if err := rows.Scan(&g.Scope, &g.State, &g.Rows); err != nil {
			return err
		}
		s.add(g)
	}
	return rows.Err()
}

func (s *Stats) add(g Group) {
	for i := range s.Groups {
		if s.Groups[i].Scope == g.Scope && s.Groups[i].State == g.State {
			s.Groups[i].Rows += g.Rows
			return
		}
	}
	s.Groups = append(s.Groups, g)
}

// leaveOutOwn takes out the rows that Nebis has for itself, such as the turn of the
// clean-up: they are nobody's keys.
func (s *Stats) leaveOutOwn() {
	s.Groups = slices.DeleteFunc(s.Groups, func(g Group) bool {
		own := strings.HasPrefix(g.Scope, "nebis.")
		if own {
			s.Rows -= g.Rows
		}
		return own
	})
}

func (s *Stats) sort() {
	slices.SortFunc(s.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.State, b.State))
	})
}

// countExpired counts what Purge would take, by the index on expires_at.
func (t *Table) countExpired(ctx context.Context, s *Stats) (err error) {
	if !t.has["expires_at"] {
		return nil
	}
	if s.Expired, err = t.expiredFor(ctx, 0); err != nil {
		return err
	}
	s.AtLeast = s.Expired == enough
	if s.Lagging, err = t.expiredFor(ctx, 24*time.Hour); err != nil || !t.has["token"] {
		return err
	}
	var n int
	err = t.q.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT id FROM `+t.quoted()+` WHERE expires_at IS NULL AND token IS NULL LIMIT 1) AS x`).Scan(&n)
	s.Unstamped = n > 0
	return err
}

func (t *Table) expiredFor(ctx context.Context, d time.Duration) (n int64, err error) {
	err = t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT id FROM %s WHERE expires_at <= %s AND (%s <> 'processing' OR %s IS NULL) LIMIT %d) AS x`,
		t.quoted(), t.ago(d), t.status(), t.token(), enough)).Scan(&n)
	return n, err
}

// weigh asks how much room the table takes.
func (t *Table) weigh(ctx context.Context, s *Stats) error {
	schema, table := split(t.name)
	var size sql.NullInt64
	var err error
	switch t.d {
	case nebis.MySQL:
		err = t.q.QueryRowContext(ctx, `SELECT data_length + index_length FROM information_schema.tables WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`, schema, table).Scan(&size)
	case nebis.Postgres:
		err = t.q.QueryRowContext(ctx, `SELECT pg_total_relation_size(to_regclass($1))`, t.quoted()).Scan(&size)
	default:
		s.Whole = true
		err = t.q.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&size)
	}
	s.Bytes = size.Int64
	return err
}

// A Keep is how long the keys of a scope are kept.
type Keep struct {
	Scope    string
	Shortest time.Duration
}

// recent is how many of the newest rows tell how long keys are kept.
const recent = 20000

// Keeps returns, of the scopes among the newest rows, the shortest time that a key
// is kept.
func (t *Table) Keeps(ctx context.Context) ([]Keep, error) {
	if !t.has["expires_at"] || !t.has["created_at"] || !t.has["token"] {
		return nil, nil
	}
	rows, err := t.q.QueryContext(ctx, fmt.Sprintf(`SELECT scope, MIN(%s - %s) FROM (
  SELECT scope, created_at, expires_at FROM %s WHERE token IS NOT NULL AND expires_at IS NOT NULL ORDER BY id DESC LIMIT %d) AS x GROUP BY scope ORDER BY scope`,
		t.micros("expires_at"), t.micros("created_at"), t.quoted(), recent))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	var all []Keep
	for rows.Next() {
		var k Keep
		var micros int64
		if err := rows.Scan(&k.Scope, &micros); err != nil {
			return nil, err
		}
		k.Shortest = time.Duration(micros) * time.Microsecond
		all = append(all, k)
	}
	return all, rows.Err()
}

// OldCode returns the newest row of code that does not use the Store, if it is newer
// than a row of the Store's: among the newest rows. Nil: there is none.
func (t *Table) OldCode(ctx context.Context) (*Row, error) {
	if !t.has["token"] {
		return nil, nil
	}
	var old, ours sql.NullInt64
	err := t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT MAX(CASE WHEN token IS NULL THEN id END), MIN(CASE WHEN token IS NOT NULL THEN id END)
FROM (SELECT id, token FROM %s ORDER BY id DESC LIMIT %d) AS x`, t.quoted(), recent)).Scan(&old, &ours)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	if !old.Valid || !ours.Valid || old.Int64 < ours.Int64 {
		return nil, nil
	}
	rows, err := t.rows(ctx, fmt.Sprintf(`WHERE id = %d`, old.Int64), nil)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

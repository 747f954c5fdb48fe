package keytable

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// A Row is what a key's row says, without the answer. Times are the database's, in
// UTC; one that the table does not have is zero.
type Row struct {
	ID         int64       `json:"id"`
	Scope      string      `json:"scope"`
	Owner      string      `json:"owner"`
	Key        string      `json:"key"`
	State      nebis.State `json:"state"`
	Attempts   int         `json:"attempts"`
	Error      string      `json:"error,omitempty"`
	CreatedAt  time.Time   `json:"created_at,omitzero"`
	UpdatedAt  time.Time   `json:"updated_at,omitzero"`
	LeaseUntil time.Time   `json:"lease_until,omitzero"`
	ExpiresAt  time.Time   `json:"expires_at,omitzero"`
	SeenUntil  time.Time   `json:"seen_until,omitzero"` // as in nebis.Entry
	Faded      bool        `json:"-"`                   // its answer is over, or out of the row: the key is only remembered
}

// A Filter says which rows are wanted. The zero value wants all.
type Filter struct {
	Scope, Owner string
	State        nebis.State
	Since        time.Time     // claimed at this time or later
	OlderThan    time.Duration // claimed longer ago than this, by the database's clock

	unfinished bool
	open       bool // claimed by a transaction that has not ended: seen at READ UNCOMMITTED
}

// A Query is one page of rows, by their ids.
type Query struct {
	Filter
	Limit  int
	After  int64 // go on after this id; 0: from the beginning
	Oldest bool  // the oldest first, not the newest

	// Budget ends the search when so much time has passed; 0: never.
	Budget time.Duration

	// Progress, if set, is told how many rows have been looked at.
	Progress func(rows int)
}

// A Page is what was found.
type Page struct {
	Rows   []Row
	Looked int   // how many rows were looked at
	Last   int64 // the last id that was looked at
	Whole  bool  // there is nothing after it
}

// How many rows one statement looks at: few at first, for who wants the newest.
const (
	firstWindow = 2000
	lastWindow  = 64000
)

// Find returns a page. No index has what people filter by, so it walks along the
// primary key, window by window, and stops at the limit: it never sorts, and holds
// nothing up. When ctx ends, or the budget, what was found so far comes back.
func (t *Table) Find(ctx context.Context, q Query) (*Page, error) {
	where, args, err := t.where(q.Filter)
	if err != nil {
		return nil, err
	}
	p, began := &Page{Last: q.After}, time.Now()
	for window := firstWindow; len(p.Rows) < q.Limit && !p.Whole; window = min(2*window, lastWindow) {
		err := t.walk(ctx, q, p, window, where, args)
		switch {
		case err != nil && ctx.Err() != nil:
			return p, context.Cause(ctx) // SQLite's own error only says "interrupted"
		case err != nil:
			return p, err
		}
		if q.Progress != nil {
			q.Progress(p.Looked)
		}
		if q.Budget > 0 && time.Since(began) > q.Budget {
			break
		}
	}
	return p, nil
}

// walk looks at one window.
func (t *Table) walk(ctx context.Context, q Query, p *Page, window int, where string, args []any) error {
	side, order, edge := "<", "DESC", "MIN"
	if q.Oldest {
		side, order, edge = ">", "ASC", "MAX"
	}
	from := "1 = 1"
	if p.Last != 0 || p.Looked > 0 {
		from = fmt.Sprintf("id %s %d", side, p.Last)
	}
	var n int
	var end sql.NullInt64
	err := t.q.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*), %s(id) FROM (SELECT id FROM %s WHERE %s ORDER BY id %s LIMIT %d) AS x`,
		edge, t.quoted(), from, order, window)).Scan(&n, &end)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", t.name, err)
	case n == 0:
		p.Whole = true
		return nil
	}
	until := fmt.Sprintf("id %s= %d", map[string]string{"<": ">", ">": "<"}[side], end.Int64)
	left := q.Limit - len(p.Rows)
	rows, err := t.rows(ctx, fmt.Sprintf(`WHERE %s AND %s%s ORDER BY id %s LIMIT %d`, from, until, where, order, left), args)
	if err != nil {
		return err
	}
	p.Rows = append(p.Rows, rows...)
	p.Looked, p.Last, p.Whole = p.Looked+n, end.Int64, n < window
	if len(rows) == left {
		p.Last = rows[left-1].ID
		p.Whole = p.Whole && p.Last == end.Int64
	}
	return nil
}

// where is the filter as conditions that follow others.
func (t *Table) where(f Filter) (where string, args []any, err error) {
	var b strings.Builder
	and := func(condition string, more ...any) {
		b.WriteString(" AND " + condition)
		args = append(args, more...)
	}
	if f.Scope != "" {
		and("scope = ?", f.Scope)
	}
	if f.Owner != "" {
		if !t.has["owner"] {
			return "", nil, fmt.Errorf("%s has no column owner: nebis migrate takes the table over", t.name)
		}
		and("owner = ?", f.Owner)
	}
	if f.State != "" {
		and(t.state()+" = ?", string(f.State))
	}
	if (f.OlderThan > 0 || !f.Since.IsZero()) && !t.has["created_at"] {
		return "", nil, fmt.Errorf("%s has no column created_at: nothing tells how old its rows are", t.name)
	}
	if f.OlderThan > 0 {
		and("created_at <= " + t.ago(f.OlderThan))
	}
	if !f.Since.IsZero() {
		and("created_at >= " + t.at(f.Since))
	}
	if f.unfinished {
		and(t.state() + " IN ('in progress', 'unknown')")
	}
	if f.open {
		and(t.open())
	}
	return t.bind(b.String()), args, nil
}

func (t *Table) rows(ctx context.Context, tail string, args []any) ([]Row, error) {
	text := t.column("error", "NULL")
	if t.has["error"] && t.d == nebis.MySQL {
		text = "CAST(error AS BINARY)"
	}
	query := `SELECT id, scope, ` + t.column("owner", "''") + `, idem_key, ` + t.state() + `, ` + t.column("attempts", "1") + `, ` + text + `, ` + t.over()
	for _, c := range []string{"created_at", "updated_at", "lease_until", "expires_at"} {
		query += `, ` + t.micros(c)
	}
	rows, err := t.q.QueryContext(ctx, query+` FROM `+t.quoted()+` `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	var all []Row
	for rows.Next() {
		var r Row
		var why sql.NullString
		var over bool
		var at [4]sql.NullInt64
		if err := rows.Scan(&r.ID, &r.Scope, &r.Owner, &r.Key, &r.State, &r.Attempts, &why, &over, &at[0], &at[1], &at[2], &at[3]); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		r.Error = why.String
		r.CreatedAt, r.UpdatedAt, r.LeaseUntil, r.ExpiresAt = moment(at[0]), moment(at[1]), moment(at[2]), moment(at[3])
		if r.State == nebis.StateDone || r.State == nebis.StateExpired {
			if !r.ExpiresAt.IsZero() && !r.LeaseUntil.Before(r.ExpiresAt) {
				r.SeenUntil = r.LeaseUntil
				r.Faded = over || r.SeenUntil.Equal(r.ExpiresAt) // clean-up makes them one
			}
			r.LeaseUntil = time.Time{}
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

// Open returns rows that transactions which have not ended have claimed, longer
// ago than over. Only on MySQL and MariaDB can one session see them, at READ
// UNCOMMITTED.
func (t *Table) Open(ctx context.Context, over, budget time.Duration) (*Page, error) {
	if t.d != nebis.MySQL || !t.Adopted() {
		return &Page{Whole: true}, nil
	}
	return t.Find(ctx, Query{Filter: Filter{OlderThan: over, open: true}, Limit: 1000, Budget: budget})
}

// Unfinished returns rows that are in progress or whose outcome is unknown, the
// newest first.
func (t *Table) Unfinished(ctx context.Context, limit int, budget time.Duration) (*Page, error) {
	return t.Find(ctx, Query{Filter: Filter{unfinished: true}, Limit: limit, Budget: budget})
}

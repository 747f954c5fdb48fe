// Package reconcile compares the stored answers of a scope with the rows of the
// business that they speak of. Both were committed together; since then the row may
// have been changed or removed, and a repeated request is still told the answer.
//
// It never writes. An answer is read before its row is, so a row that was committed
// with it is seen, whatever is written meanwhile.
package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// Options say what to compare. Scope, SQL and IDs are required.
type Options struct {
	Table  string // the key table, one that nebis.New has taken
	Scope  string
	Since  time.Time // only keys claimed at this time or later
	Oldest bool      // the oldest first, not the newest
	After  int64     // go on after this id; 0: from the beginning

	SQL    string   // a SELECT with one question mark for the id
	IDs    []Source // where an answer has the id: the first that it has
	Same   []Same
	Expect []Expect

	Limit   int           // how many findings at most
	Timeout time.Duration // of one lookup

	Found    func(Finding) error // told of each finding
	Progress func(keys int)      // told after each key
}

// A Verdict is what is wrong.
type Verdict string

// The verdicts. A key whose answer and row agree is only counted.
const (
	Missing    Verdict = "missing"    // there is no such row
	Different  Verdict = "different"  // a column is not as it should be
	Unreadable Verdict = "unreadable" // which row it is cannot be told
)

// A Finding is a key whose row is not as its answer says.
type Finding struct {
	ID        int64        `json:"id"`
	Scope     string       `json:"scope"`
	Owner     string       `json:"owner"`
	Key       string       `json:"key"`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	Verdict   Verdict      `json:"verdict"`
	Row       string       `json:"row,omitempty"` // the id that the answer has
	Differs   []Difference `json:"differs,omitempty"`
	Why       string       `json:"why,omitempty"` // of Unreadable, and where no column is to blame
}

// A Sum is what was seen in all.
type Sum struct {
	Compared   int `json:"compared"`
	Agree      int `json:"agree"`
	Missing    int `json:"missing"`
	Different  int `json:"different"`
	Unreadable int `json:"unreadable"`

	Refusals int `json:"refusals"` // answers with a status from 400 on: there is no row
	NotKept  int `json:"not_kept"` // keys without an answer
	NoJSON   int `json:"no_json"`  // answers without JSON, whose row was looked for and not compared with them

	Last  int64 `json:"last"`  // the id of the last key that was looked at
	Whole bool  `json:"whole"` // there is nothing after it
}

// Bad is how many keys do not agree with their rows.
func (s *Sum) Bad() int { return s.Missing + s.Different + s.Unreadable }

// batch is how many keys are read at once.
const batch = 500

// Run compares, in small read-only transactions. The sum tells, beside an error as
// well, how far it came. A [find.Mistake] is an error in what was asked for.
func Run(ctx context.Context, db *sql.DB, d nebis.Dialect, o Options) (*Sum, error) {
	r := &run{o: o, sum: &Sum{Last: o.After}}
	l, err := newLookup(ctx, db, d, &o)
	if err != nil {
		return r.sum, err
	}
	r.lookup = l
	err = r.pages(ctx, d)
	l.close()
	if ctx.Err() != nil || errors.Is(err, errSlow) {
		l.stop(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // the drivers have words of their own
	}
	return r.sum, err
}

type run struct {
	o      Options
	sum    *Sum
	lookup *lookup
}

func (r *run) pages(ctx context.Context, d nebis.Dialect) error {
	t, err := keytable.Look(ctx, r.lookup.conn, d, r.o.Table)
	if err != nil {
		return err
	}
	if err := r.lookup.prepare(ctx, &r.o); err != nil {
		return err
	}
	q := keytable.Query{
		Filter: keytable.Filter{Scope: r.o.Scope, State: nebis.StateDone, Since: r.o.Since},
		Limit:  batch, Oldest: r.o.Oldest,
	}
	for !r.sum.Whole && r.sum.Bad() < r.o.Limit {
		q.After = r.sum.Last
		page, err := t.Find(ctx, q)
		if err != nil {
			return err
		}
		if err := r.page(ctx, t, page); err != nil {
			return err
		}
	}
	return nil
}

// page compares one page, or as much of it as there is room for findings.
func (r *run) page(ctx context.Context, t *keytable.Table, page *keytable.Page) error {
	answers, err := r.answers(ctx, t, page.Rows)
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		if a, still := answers[row.ID]; still {
			if err := r.key(ctx, row, a); err != nil {
				return err
			}
		}
		r.sum.Last = row.ID
		if r.sum.Bad() >= r.o.Limit {
			return nil
		}
	}
	r.sum.Last, r.sum.Whole = page.Last, page.Whole
	return nil
}

func (r *run) answers(ctx context.Context, t *keytable.Table, rows []keytable.Row) (map[int64]answer, error) {
	all := map[int64]answer{}
	if len(rows) == 0 {
		return all, nil
	}
	var ids []int64
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	r.lookup.end()
	err := find.ReadOnly(ctx, r.lookup.conn, func(tx *sql.Tx) error {
		return t.On(tx).Answers(ctx, ids, func(id int64, response []byte) { all[id] = r.o.read(response) })
	})
	return all, err
}

// key compares one key with its row.
func (r *run) key(ctx context.Context, k keytable.Row, a answer) error {
	switch {
	case a.refusal:
		r.sum.Refusals++
		return nil
	case a.notKept:
		r.sum.NotKept++
		return nil
	}
	f := Finding{ID: k.ID, Scope: k.Scope, Owner: k.Owner, Key: k.Key, CreatedAt: k.CreatedAt, Row: a.id}
	if err := r.judge(ctx, a, &f); err != nil {
		return err
	}
	r.count(a, f.Verdict)
	r.o.Progress(r.sum.Compared)
	if f.Verdict == "" {
		return nil
	}
	return r.o.Found(f)
}

// judge gives the finding its verdict; none: they agree.
func (r *run) judge(ctx context.Context, a answer, f *Finding) error {
	if a.why != "" {
		f.Verdict, f.Why = Unreadable, a.why
		return nil
	}
	rows, err := r.lookup.find(ctx, a.id)
	switch {
	case errors.Is(err, errRefused):
		f.Verdict, f.Why = Unreadable, err.Error()
	case err != nil:
		return err
	case len(rows) == 0:
		f.Verdict = Missing
	case len(rows) > 1:
		f.Verdict, f.Why = Different, "there is more than one row"
	default:
		if f.Differs = r.o.compare(r.lookup.columns, rows[0], a); len(f.Differs) > 0 {
			f.Verdict = Different
		}
	}
	return nil
}

func (r *run) count(a answer, v Verdict) {
	r.sum.Compared++
	switch v {
	case Missing:
		r.sum.Missing++
	case Different:
		r.sum.Different++
	case Unreadable:
		r.sum.Unreadable++
	default:
		r.sum.Agree++
	}
	if a.noJSON && v != Unreadable {
		r.sum.NoJSON++
	}
}

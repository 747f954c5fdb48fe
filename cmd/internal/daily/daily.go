// Package daily is the inspection of a key table that an owner has made once a day:
// whether duplicates are stopped, whether anything is stuck, whether the table is
// as it must be.
package daily

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// A Finding is one thing that was found. The codes stay the same from version to
// version; the texts do not.
type Finding struct {
	Level nebis.Level `json:"level"`
	Code  string      `json:"code"`
	What  string      `json:"what"`
	Why   string      `json:"why"` // it matters
	Do    string      `json:"do"`
}

// A Report is what an inspection has found.
type Report struct {
	Database string    `json:"database"`
	Table    string    `json:"table"`
	Rows     int64     `json:"rows"`
	About    bool      `json:"about"`
	Findings []Finding `json:"findings"` // the worst first
	Looked   []string  `json:"looked_at"`
	Skipped  []string  `json:"not_looked_at"`
	Error    string    `json:"error,omitempty"` // it could not run
}

// An Inspection says what is to be inspected.
type Inspection struct {
	DB      *sql.DB
	Dialect nebis.Dialect
	Store   *nebis.Store
	Over    time.Duration // after which something is stuck
	Budget  time.Duration // for what has to walk through rows
	Ignore  []string      // codes that are known

	// ReadOnly leaves out what writes: the operation that is tried, and the number
	// of rows that is remembered for the next time.
	ReadOnly bool
}

// Run inspects. The error is that it could not.
func (i *Inspection) Run(ctx context.Context) (*Report, error) {
	r := &Report{Table: i.Store.Table(), Findings: []Finding{}, Looked: []string{}, Skipped: []string{}}
	sound, err := i.settings(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := keytable.Look(ctx, i.DB, i.Dialect, r.Table)
	if missing := new(keytable.MissingError); errors.As(err, &missing) {
		r.Skipped = append(r.Skipped, "all else: there is no table")
		return i.settle(r), nil
	}
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *keytable.Table, *Report) error{
		i.size, i.unknown, i.oldCode, i.held, i.keeps, i.history,
	} {
		if err := step(ctx, t, r); err != nil {
			return nil, err
		}
	}
	switch {
	case i.ReadOnly:
		r.Skipped = append(r.Skipped, "a claim, a replay and a takeover: not tried, for --read-only")
	case !sound || !t.Adopted():
		r.Skipped = append(r.Skipped, "a claim, a replay and a takeover: not tried while the table is not as it must be")
	default:
		i.try(ctx, r)
	}
	return i.settle(r), nil
}

// settle leaves out what is known, and puts the worst first.
func (i *Inspection) settle(r *Report) *Report {
	order := []nebis.Level{nebis.Problem, nebis.Warning, nebis.Note}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return slices.Contains(i.Ignore, f.Code) })
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
	})
	return r
}

// Bad returns how many findings somebody has to do something about.
func (r *Report) Bad() int {
	n := 0
	for _, f := range r.Findings {
		if f.Level != nebis.Note {
			n++
		}
	}
	return n
}

func (r *Report) add(l nebis.Level, code, why, do, what string, args ...any) {
	r.Findings = append(r.Findings, Finding{l, code, fmt.Sprintf(what, args...), why, do})
}

func (r *Report) looked(at string, args ...any) {
	r.Looked = append(r.Looked, fmt.Sprintf(at, args...))
}

package gauges

import (
	"context"
	"slices"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// A walk finds the rows that are unfinished. They are few and no index has them, so
// each step looks at the newest rows, and on from where the last step came to: in
// time the whole table has been looked at. What was found is asked for by its id
// until it is finished.
type walk struct {
	after int64 // 0: from the newest on
	known []int64
}

// How long a step looks at rows.
const (
	newest = 20 * time.Millisecond
	older  = 50 * time.Millisecond
)

func (w *walk) step(ctx context.Context, t *keytable.Table) ([]keytable.Unfinished, error) {
	top, err := t.UnfinishedAfter(ctx, 0, MostUnfinished, newest)
	if err != nil {
		return nil, err
	}
	w.add(top)
	if w.after == 0 {
		w.after = top.Last
	}
	if !top.Whole {
		below, err := t.UnfinishedAfter(ctx, w.after, MostUnfinished, older)
		if err != nil {
			return nil, err
		}
		w.add(below)
		w.after = below.Last
		if below.Whole {
			w.after = 0
		}
	}
	open, err := t.StillUnfinished(ctx, w.known)
	if err != nil {
		return nil, err
	}
	w.known = w.known[:0]
	for _, o := range open {
		w.known = append(w.known, o.ID)
	}
	return open, nil
}

// add keeps what a page has, up to a number.
func (w *walk) add(p *keytable.Page) {
	for _, row := range p.Rows {
		if len(w.known) < MostUnfinished && !slices.Contains(w.known, row.ID) {
			w.known = append(w.known, row.ID)
		}
	}
}

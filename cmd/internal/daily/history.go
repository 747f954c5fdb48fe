package daily

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/hourly"
)

// scope is that of the operation that is tried; in the hourly counts it also
// remembers how many rows there were.
const (
	scope                    = "nebis.check"
	rowsThen   nebis.Outcome = "rows"
	day, week                = 24, 8 * 24 // hours; the week before the day
	manyRows                 = 100000
	duplicates               = 20
)

// tally is what the counts say of a time.
type tally struct {
	all, repeated, failed, lost int64
	mismatch                    map[string]int64 // by scope
}

func (t *tally) add(c hourly.Count) {
	t.all += c.Times
	switch c.Outcome {
	case nebis.ReplayedMemory, nebis.ReplayedTable, nebis.InProgress, nebis.NotKept:
		t.repeated += c.Times
	case nebis.Mismatch:
		t.mismatch[c.Scope] += c.Times
	case nebis.Failed:
		t.failed += c.Times
	case nebis.Lost:
		t.lost += c.Times
	}
}

// history compares the last day with the week before, and the number of rows with
// an earlier one.
func (i *Inspection) history(ctx context.Context, _ *keytable.Table, r *Report) error {
	there, err := keytable.There(ctx, i.DB, i.Dialect, r.Table+"_hourly")
	switch {
	case err != nil:
		return err
	case !there:
		r.Skipped = append(r.Skipped, fmt.Sprintf("duplicates of the last day: there is no table %s_hourly. nebis migrate up --for hourly makes it, and hourly.Counter in the program fills it", r.Table))
		return nil
	}
	counts, err := hourly.Read(ctx, i.DB, i.Dialect, r.Table, week)
	if err != nil {
		return err
	}
	now, before := tally{mismatch: map[string]int64{}}, tally{mismatch: map[string]int64{}}
	for _, c := range counts {
		switch {
		case c.Scope == scope:
		case c.Age < day:
			now.add(c)
		default:
			before.add(c)
		}
	}
	r.looked("%s of the last day, %s of them repeated", report.Plural(int(now.all), "operation", "operations"), report.Count(int(now.repeated)))
	r.compare(now, before)
	return i.growth(ctx, counts, r)
}

func (r *Report) compare(now, before tally) {
	mean := before.repeated / 7
	switch {
	case before.all > 0 && before.repeated == 0 && now.repeated > 0:
		r.add(nebis.Warning, "retries-began", "the site does have retries: before Nebis each of them was a second order",
			"Nothing at once: they were stopped. See what has changed: a client that tries again, a slower page, a button that is not disabled",
			"%s stopped on the last day, and none in the week before", report.Plural(int(now.repeated), "repeated write was", "repeated writes were"))
	case now.repeated >= duplicates && now.repeated > 3*max(mean, 1) && before.all > 0:
		r.add(nebis.Warning, "retries-rose", "people or programs wait for answers that do not come, or come too late",
			"They were stopped. Look whether pages have become slow, and what was changed",
			"%s repeated writes on the last day, and %s a day in the week before", report.Count(int(now.repeated)), report.Count(int(mean)))
	}
	for _, s := range slices.Sorted(maps.Keys(now.mismatch)) {
		r.add(nebis.Warning, "mismatch", "a client uses one key for two different things: the second was refused, and somebody may miss it",
			"Look how that client makes its keys (docs/keys.md): one for each intent, kept over its retries",
			"%s of scope %s on the last day had a key that was used for something else", report.Plural(int(now.mismatch[s]), "request", "requests"), report.Clean(s))
	}
	if now.lost > 0 {
		r.add(nebis.Warning, "lost", "the work was rolled back, or its result not saved",
			"Look into the program's log for ErrTxGone and ErrLost: a function that ends its transaction by hand, or works longer than its lease",
			"%s transaction or lease", report.Plural(int(now.lost), "operation of the last day has lost its", "operations of the last day have lost their"))
	}
	if now.failed >= 10 && now.failed*100 > now.all {
		r.add(nebis.Warning, "failed", "people are told to try again later", "Look into the program's log for ErrBusy, ErrKey and ErrNotCommitted",
			"%s of %s operations of the last day have failed before they ran", report.Count(int(now.failed)), report.Count(int(now.all)))
	}
}

// growth compares the rows with those that an inspection of the last week has
// counted, and remembers them for the next.
func (i *Inspection) growth(ctx context.Context, counts []hourly.Count, r *Report) error {
	n := slices.IndexFunc(counts, func(c hourly.Count) bool { return c.Scope == scope && c.Outcome == rowsThen && c.Age >= day-4 })
	if n >= 0 && r.Rows > manyRows && r.Rows > 2*counts[n].Times {
		r.add(nebis.Warning, "growth", "clean-up does not keep up, or many more keys come than before",
			"nebis stats shows which scopes they are of, nebis clean removes what has expired",
			"the table has %s rows, and had %s %d hours ago", report.Count(int(r.Rows)), report.Count(int(counts[n].Times)), counts[n].Age)
	}
	if i.ReadOnly {
		return nil
	}
	c, err := hourly.New(i.DB, i.Dialect, &hourly.Options{Table: r.Table})
	if err != nil {
		return err
	}
	if err := c.Set(ctx, scope, rowsThen, r.Rows); err != nil {
		r.Skipped = append(r.Skipped, strings.TrimPrefix(fmt.Sprintf("the number of rows, for the next time: %v", err), "hourly: "))
	}
	return nil
}

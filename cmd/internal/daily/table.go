package daily

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/stuck"
)

// Why a finding of nebis.Store.Check matters, where its own text does not say it.
var whyOf = map[string]string{
	"no-table": "no operation works without it", "not-a-table": "no operation works with it",
	"engine": "what was rolled back stays, or is forgotten", "column-missing": "every operation fails",
	"column-type": "every operation fails", "column-required": "every operation fails",
	"key-folds":    "two different keys are taken for one: the second operation is not done, and gets the answer to the first",
	"key-narrow":   "long keys are refused, or cut and taken for each other",
	"unique-index": "a repeated write is done twice", "unique-other": "operations that have nothing to do with each other collide",
	"expires-index": "clean-up gets slower as the table grows, and holds up claims", "id-index": "every operation gets slower as the table grows",
	"clock":     "logs of both cannot be laid side by side; nothing expires early, as the database's clock alone counts",
	"half-open": "who sends again waits, and is told that it is in progress",
	"old-loose": "a repeated write that comes through both is done twice",
}

var whyLevel = map[nebis.Level]string{
	nebis.Problem: "it breaks the promise, or operations fail",
	nebis.Warning: "it can hurt one day",
	nebis.Note:    "it is worth knowing",
}

// settings looks at the table's shape and the server's settings. It reports
// whether an operation could work.
func (i *Inspection) settings(ctx context.Context, r *Report) (sound bool, err error) {
	all, err := i.Store.Check(ctx)
	if err != nil {
		return false, err
	}
	sound = true
	for _, f := range all {
		why := whyOf[f.Code]
		if why == "" {
			why = whyLevel[f.Level]
		}
		r.Findings = append(r.Findings, Finding{f.Level, f.Code, f.What, why, f.Do})
		sound = sound && f.Level != nebis.Problem
	}
	r.looked("the table's shape, the server's settings, both clocks")
	return sound, nil
}

// size looks at the number of rows, and at clean-up.
func (i *Inspection) size(ctx context.Context, t *keytable.Table, r *Report) error {
	s, err := t.Stats(ctx)
	if err != nil {
		return err
	}
	r.Rows, r.About = s.Rows, s.About
	r.looked("%s, %s of them expired", report.Plural(int(s.Rows), "row", "rows"), report.Count(int(s.Expired)))
	if s.Lagging > 0 {
		r.add(nebis.Warning, "clean-up", "the table grows without end, and with it the time of every operation and every backup",
			"Run nebis clean, by a timer or cron (docs/clean.md), or call Store.Purge regularly",
			"%s expired for more than a day: nothing cleans the table", report.Plural(int(s.Lagging), "row has been", "rows have been"))
	}
	if s.Unstamped {
		r.add(nebis.Note, "no-expiry", "they stay for ever", "Run nebis migrate up, or nebis clean, which give them an expiry",
			"there are rows of old code that have no expiry")
	}
	return nil
}

// unknown looks for outcomes that wait for a person.
func (i *Inspection) unknown(ctx context.Context, t *keytable.Table, r *Report) error {
	if !t.Adopted() {
		r.Skipped = append(r.Skipped, "unknown outcomes: the table is not migrated yet")
		return nil
	}
	page, err := t.Find(ctx, keytable.Query{Filter: keytable.Filter{State: nebis.StateUnknown}, Limit: 1000, Budget: i.Budget})
	if err != nil {
		return err
	}
	if n := len(page.Rows); n > 0 {
		oldest := page.Rows[n-1]
		for _, row := range page.Rows {
			if row.LeaseUntil.Before(oldest.LeaseUntil) {
				oldest = row
			}
		}
		r.add(nebis.Problem, "unknown", "somebody may wait for money or goods, and every further try is told that nobody knows",
			"nebis list --status unknown shows them, nebis show each; find out on the other side whether it happened, then nebis resolve --done or --free",
			"keys left in processing with a lease that has ended: %d. Their outcome is unknown. The oldest is row %d of scope %s, whose lease ended at %s UTC",
			n, oldest.ID, report.Clean(oldest.Scope), oldest.LeaseUntil.Format(time.DateTime))
	}
	if !page.Whole && len(page.Rows) < 1000 {
		r.Skipped = append(r.Skipped, fmt.Sprintf("unknown outcomes: only the newest %s rows, in %v; nebis list --status unknown looks at all", report.Count(page.Looked), i.Budget))
	}
	r.looked("unknown outcomes")
	return nil
}

// oldCode tells whether code that does not use the Store still writes.
func (i *Inspection) oldCode(ctx context.Context, t *keytable.Table, r *Report) error {
	row, err := t.OldCode(ctx)
	if err != nil || row == nil {
		return err
	}
	why := "it does not keep owners apart, and a repeated write that comes once through it and once through the Store can be done twice"
	r.add(nebis.Warning, "old-code", why,
		"Move that code over to the Store, or stop it (docs/adoption.md). Until then keep its unique index",
		"code that does not use the Store still writes to the table: row %d of scope %s is newer than rows of the Store", row.ID, report.Clean(row.Scope))
	return nil
}

// held looks for transactions that have been open for too long.
func (i *Inspection) held(ctx context.Context, t *keytable.Table, r *Report) error {
	found, err := stuck.Find(ctx, i.DB, i.Dialect, t, i.Over, i.Budget)
	if err != nil {
		return err
	}
	for n, x := range found.Held {
		if n == 10 {
			r.add(nebis.Problem, "stuck", "as above", "As above", "%d more transactions hold keys", len(found.Held)-n)
			break
		}
		r.add(nebis.Problem, "stuck", "who sends one of its keys again waits, and is told that it is in progress; on SQLite nobody else can write",
			i.end(x), "%s", i.holds(x))
	}
	r.Skipped = append(r.Skipped, found.Limits...)
	r.looked("transactions that have been open for more than %v", i.Over)
	return nil
}

// holds says what holds a key. SQLite does not tell for how long.
func (i *Inspection) holds(x stuck.Transaction) string {
	if i.Dialect == nebis.SQLite {
		return fmt.Sprintf("a writer holds the database: its place was taken all the %v that it was watched; who it is, and since when, SQLite does not tell", x.Age.Round(time.Second/10))
	}
	return fmt.Sprintf("a transaction holds a key for more than %v: %s", i.Over, report.CleanLong(x.String()))
}

// end says how a transaction is ended.
func (i *Inspection) end(x stuck.Transaction) string {
	const first = "Find out what that program waits for (a call to the outside does not belong into a transaction: docs/outbox.md). "
	switch {
	case i.Dialect == nebis.SQLite:
		return first + "fuser or lsof on the file names the processes; ending the one that hangs rolls its work back"
	case x.Connection == 0:
		return first + "Its end rolls its work back, and frees the key"
	case i.Dialect == nebis.Postgres:
		return first + fmt.Sprintf("SELECT pg_terminate_backend(%d) ends it: its work is rolled back, and the key is free", x.Connection)
	}
	return first + fmt.Sprintf("KILL %d ends it: its work is rolled back, and the key is free", x.Connection)
}

// A schedule is for how long a provider sends a callback again.
type schedule struct {
	scope string
	again time.Duration
	says  string
}

// By the providers' documents: docs/callbacks.md.
var schedules = []schedule{
	{"alipay", 26 * time.Hour, "25 hours"},
	{"wechatpay", 25 * time.Hour, "24 hours"},
	{"epay", 24 * time.Hour, "about a day"},
	{"stripe", 30 * 24 * time.Hour, "3 days by itself and 30 days by hand"},
	{"paypal", 3 * 24 * time.Hour, "3 days"},
	{"github", 3 * 24 * time.Hour, "3 days by hand"},
}

// keeps compares how long keys are kept with how long providers send.
func (i *Inspection) keeps(ctx context.Context, t *keytable.Table, r *Report) error {
	all, err := t.Keeps(ctx)
	if err != nil {
		return err
	}
	for _, k := range all {
		n := slices.IndexFunc(schedules, func(s schedule) bool { return s.scope == k.Scope })
		if n < 0 || k.Shortest >= schedules[n].again {
			continue
		}
		r.add(nebis.Warning, "keep-short", "a callback that comes after that is taken for a new one: points or goods are given twice",
			"Keep them for 35 days: callback.Options.Keep, or keep in the gateway's route",
			"keys of scope %s are kept for %v, and the provider sends again for %s", k.Scope, k.Shortest.Round(time.Minute), schedules[n].says)
	}
	r.looked("how long keys are kept, of %s", report.Plural(len(all), "scope", "scopes"))
	return nil
}

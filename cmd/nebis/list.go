package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// listFlags is the command line of list.
type listFlags struct {
	placeFlags
	query         keytable.Query
	status, since string
	older         string
	keys, json    bool
}

func newList(e env) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list [--scope SCOPE] [--owner OWNER] [--status STATUS]",
		Short: "Lists keys, the newest first",
		Long: `Lists keys, the newest first, without their answers. It only reads, and works on a
table that is not migrated yet. --status unknown lists what waits for a person.

No index has what one filters by: it walks along the ids, says how many rows it has
looked at, and stops at --limit. SIGINT stops it with what was found so far.

Exit code: 0 listed, 1 it could not be read, 2 wrong usage.`,
		Example: `  nebis list --db mysql://ann:secret@localhost/shop --status unknown
  nebis list --scope order --since 24h --limit 100
  nebis list --status processing --older-than 10m --json
  nebis list --after 1789`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			p, err := f.open(cmd, e, nebis.Options{})
			if err != nil {
				return err
			}
			defer p.db.Close()
			return f.run(cmd.Context(), e, p)
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *listFlags) flags(cmd *cobra.Command) {
	f.placeFlags.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.query.Scope, "scope", "", "only keys of this scope")
	flags.StringVar(&f.query.Owner, "owner", "", "only keys of this owner, as the column shows it; * is nobody in particular")
	flags.StringVar(&f.status, "status", "", "only these: processing, done, failed (free to run again), unknown, expired")
	flags.StringVar(&f.since, "since", "", "only keys claimed since then: `TIME` as 24h, 7d, 2026-01-31 or 2026-01-31T08:00:00Z")
	flags.StringVar(&f.older, "older-than", "", "only keys claimed longer ago than this `AGE`, as 10m, 24h or 7d")
	flags.IntVar(&f.query.Limit, "limit", 50, "how many at most")
	flags.Int64Var(&f.query.After, "after", 0, "go on after this id: the last one of the page before")
	flags.BoolVar(&f.query.Oldest, "oldest", false, "the oldest first")
	flags.BoolVar(&f.keys, "keys", false, "with whole keys and owners; otherwise long ones are shortened")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line, with whole keys")
}

var statuses = map[string]nebis.State{
	"": "", "processing": nebis.StateInProgress, "done": nebis.StateDone, "failed": nebis.StateFree,
	"unknown": nebis.StateUnknown, "expired": nebis.StateExpired,
}

func (f *listFlags) check() (err error) {
	state, ok := statuses[f.status]
	switch {
	case !ok:
		return usagef("--status %q: want processing, done, failed, unknown or expired", f.status)
	case f.query.Limit < 1:
		return usagef("--limit: want 1 at least")
	case f.query.After < 0:
		return usagef("--after: want an id")
	}
	f.query.State = state
	if f.older != "" {
		if f.query.OlderThan, err = age(f.older); err != nil {
			return usagef("--older-than %q: want an age such as 10m, 24h or 7d", f.older)
		}
	}
	if f.since != "" {
		if f.query.Since, err = pointInTime(f.since, time.Now()); err != nil {
			return usagef("--since %q: want 24h, 7d, 2026-01-31 or 2026-01-31T08:00:00Z", f.since)
		}
	}
	return nil
}

// age reads a duration that may be in days.
func age(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 36500 {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("not more than nothing")
	}
	return d, err
}

func pointInTime(s string, now time.Time) (time.Time, error) {
	if d, err := age(s); err == nil {
		return now.Add(-d), nil
	}
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339, s)
}

func (f *listFlags) run(ctx context.Context, e env, p *place) error {
	t, err := keytable.Look(ctx, p.db, p.target.Dialect, p.table)
	if err != nil {
		return p.failed(err)
	}
	bar := newProgress(e, 0, " rows")
	f.query.Progress = bar.set
	page, err := t.Find(ctx, f.query)
	bar.clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return p.failed(err)
	}
	if f.json {
		return listLines(e.stdout, page)
	}
	return f.print(e.stdout, p, t, page, err != nil)
}

func listLines(w io.Writer, page *keytable.Page) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range page.Rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *listFlags) print(w io.Writer, p *place, t *keytable.Table, page *keytable.Page, stopped bool) error {
	fmt.Fprintf(w, "%s:\n\n", p)
	if len(page.Rows) == 0 {
		fmt.Fprintln(w, "no keys")
	} else if err := f.table(w, page.Rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if !t.Adopted() {
		fmt.Fprintln(w, "The table is not migrated yet: it has no leases and no expiry, and its times are as the old code wrote them.")
	}
	switch {
	case stopped:
		fmt.Fprintf(w, "Stopped after %s; on from there: --after %d\n", report.Plural(page.Looked, "row", "rows"), page.Last)
	case !page.Whole:
		fmt.Fprintf(w, "Looked at %s. The next page: --after %d\n", report.Plural(page.Looked, "row", "rows"), page.Last)
	default:
		fmt.Fprintf(w, "Looked at %s, to the end.\n", report.Plural(page.Looked, "row", "rows"))
	}
	return nil
}

func (f *listFlags) table(w io.Writer, rows []keytable.Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSCOPE\tOWNER\tKEY\tSTATE\tTRIES\tCLAIMED (UTC)\tLEASE UNTIL (UTC)\tKEPT UNTIL (UTC)\tWHY")
	for _, r := range rows {
		kept := brief(r.ExpiresAt)
		if r.State == nebis.StateUnknown || r.Faded { // as in show
			kept = ""
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.ID, report.Clean(r.Scope), shorten(r.Owner, f.keys), shorten(r.Key, f.keys),
			r.State, r.Attempts, brief(r.CreatedAt), brief(r.LeaseUntil), kept, why(r))
	}
	return table.Flush()
}

// why is what a row says of itself, and that its key is only remembered.
func why(r keytable.Row) string {
	said := cut(report.Clean(r.Error), 60)
	if !r.Faded || r.State != nebis.StateDone {
		return said
	}
	return strings.TrimPrefix(said+"; ", "; ") + "no answer is kept, the key is remembered until " + brief(r.SeenUntil)
}

// shorten keeps a line readable; a key that a person wants to use is to be had by its
// id, or with --keys.
func shorten(s string, whole bool) string {
	if whole {
		return report.CleanLong(s)
	}
	return cut(report.Clean(s), 12)
}

func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// brief is a time in a list, whose header says UTC.
func brief(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05")
}

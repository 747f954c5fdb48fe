package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a small server may have no zones of its own

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// findFlags is the command line of find.
type findFlags struct {
	output
	db    string
	since string
	same  []string
	id    []string
	opts  find.Options
}

func newFind(e env) *cobra.Command {
	f := &findFlags{}
	cmd := &cobra.Command{
		Use:   "find",
		Short: "Finds rows of a table that were written twice",
		Long: `Finds rows that are the same but for their id, each written soon after the one
before it. It only reads, in small read-only transactions with pauses between
them; an account that may SELECT is enough.

Exit code: 0 none found, 1 found, 2 could not run.`,
		Example: `  nebis find --db mysql://ann:secret@localhost/shop --table orders
  nebis find --db sqlite:shop.db --table orders --same user_id,item,amount --at created_at --within 5s
  NEBIS_DB=postgres://ann:secret@localhost/shop nebis find --table orders --where "status <> 'cancelled'" --since 90d --sum amount --html report.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.defaults(cmd.Flags().Changed, e.getenv)
			return unable(f.run(cmd.Context(), e))
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *findFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.db, "db", "", "database, also from NEBIS_DB:\n"+dburl.Forms)
	flags.StringVar(&f.opts.Table, "table", "", "table or view to look through")
	flags.StringArrayVar(&f.same, "same", nil, "`COLUMNS` that must agree, with commas between them; without it they are proposed")
	flags.StringVar(&f.opts.At, "at", "", "column with the time: timestamp, datetime, text, seconds or milliseconds;\nwithout it one is proposed")
	flags.DurationVar(&f.opts.Within, "within", find.Window, "how soon the next row comes, inclusive")
	flags.StringArrayVar(&f.id, "id", nil, "`COLUMNS` that name a row (default the primary key)")
	flags.StringVar(&f.opts.Sum, "sum", "", "column to add up over the rows that are too many")
	flags.StringVar(&f.opts.Where, "where", "", "condition in the database's SQL, such as \"status <> 'cancelled'\"")
	flags.StringVar(&f.since, "since", "", "only rows since then: 90d, 12h, 2026-01-31")
	flags.DurationVar(&f.opts.Pause, "pause", 0, "rest after every small read (default three times as long as the read took)")
	flags.StringVar(&f.zone, "tz", "", "zone of times that have none, such as Asia/Shanghai\n(default this computer's; UTC on SQLite)")
	f.output.flags(cmd)
}

// defaults are those of flags that were not given.
func (f *findFlags) defaults(given func(string) bool, getenv func(string) string) {
	if !given("db") {
		f.db = getenv("NEBIS_DB")
	}
	if !given("pause") {
		f.opts.Pause = -1
	}
}

func (f *findFlags) run(ctx context.Context, e env) error {
	target, err := f.target(e)
	if err != nil {
		return err
	}
	if f.opts.Since, err = since(f.since, time.Now(), f.opts.Location); err != nil {
		return err
	}
	bar := newProgress(e, 0, " rows")
	f.opts.Full = f.full
	f.opts.Warn = func(s string) { fmt.Fprintf(e.stderr, "nebis: %s\n", s) }
	f.opts.Progress = func(rows, of int) {
		bar.total = max(of, 0)
		bar.set(rows)
	}
	result, err := find.Run(ctx, target, &f.opts)
	bar.clear()
	if mistake := new(find.Mistake); errors.As(err, &mistake) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return f.show(e, result)
}

// target checks the command line.
func (f *findFlags) target(e env) (dburl.Target, error) {
	if err := f.check(e); err != nil {
		return dburl.Target{}, err
	}
	loc, err := f.location()
	if err != nil {
		return dburl.Target{}, err
	}
	f.opts.Lang, _ = report.ParseLang(f.lang, e.getenv) // which check has done
	f.opts.Location, f.opts.Same, f.opts.ID = loc, splitNames(f.same), splitNames(f.id)
	switch {
	case f.db == "":
		return dburl.Target{}, usagef("--db or NEBIS_DB names the database: %s", dburl.Forms)
	case f.opts.Table == "":
		return dburl.Target{}, usagef("--table names the table to look through")
	case f.opts.Within <= 0:
		return dburl.Target{}, usagef("--within must be more than nothing")
	}
	target, err := dburl.Parse(f.db)
	if err != nil {
		return dburl.Target{}, usagef("--db: %w", err)
	}
	return target, nil
}

// splitNames cuts lists of names at their commas. A name with a comma stands in
// double quotes, as in CSV; a quote within a name is one.
func splitNames(lists []string) []string {
	var names []string
	for _, list := range lists {
		r := csv.NewReader(strings.NewReader(list))
		r.LazyQuotes, r.TrimLeadingSpace = true, true
		record, _ := r.Read() // with lazy quotes nothing is wrong but the end
		for _, name := range record {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// since reads 90d, 12h or a day.
func since(s string, now time.Time, loc *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if loc == nil {
		loc = time.Local
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--since %q is neither an age such as 90d or 12h nor a day such as 2026-01-31", s)
}

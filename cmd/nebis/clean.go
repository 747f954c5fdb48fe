package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// exitStopped is that of a program which a SIGINT has ended, as shells have it.
const exitStopped = 130

// cleanFlags is the command line of clean.
type cleanFlags struct {
	db, table    string
	dry, json    bool
	older, pause time.Duration
	batch        int
}

func newClean(e env) *cobra.Command {
	f := &cleanFlags{}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Removes keys that have expired, beside a running site",
		Long: `Removes keys that have expired, in small batches that make room for the requests
beside it, until none is left. It leaves alone what is held, and outcomes that nobody knows. One runs at a time, for
one table: a second ends at once and says so.

SIGINT and SIGTERM stop it after the batch that runs; it then says how far it came, and
what is done stays done. --dry-run only counts, and only reads.

Exit code: 0 done, 2 it could not run or was called wrongly, or another one runs,
130 stopped by a signal.`,
		Example: `  nebis clean --db mysql://ann:secret@localhost/shop
  nebis clean --db sqlite:shop.db --dry-run
  NEBIS_DB=postgres://ann:secret@localhost/shop nebis clean --older-than 24h --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return unable(f.run(cmd, e)) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.db, "db", "", "database, also from NEBIS_DB:\n"+dburl.Forms)
	flags.StringVar(&f.table, "table", "idempotency", "the key table; a schema may stand before a dot")
	flags.BoolVar(&f.dry, "dry-run", false, "only count what would be removed")
	flags.DurationVar(&f.older, "older-than", 0, "only what has expired for longer than this, such as 24h")
	flags.IntVar(&f.batch, "batch", 1000, "rows of the first batch; later ones follow the time that it takes")
	flags.DurationVar(&f.pause, "pause", 10*time.Millisecond, "the least time between two batches")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

func (f *cleanFlags) run(cmd *cobra.Command, e env) error {
	switch {
	case f.older < 0:
		return usagef("--older-than %v is negative", f.older)
	case f.batch < 1:
		return usagef("--batch %d: want one row at least", f.batch)
	case f.pause < 0:
		return usagef("--pause %v is negative", f.pause)
	}
	store, target, db, err := f.open(cmd, e)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := cmd.Context()
	n, more, err := store.Expired(ctx, f.older, countMost)
	if err != nil {
		return f.failed(ctx, store, target, err)
	}
	if f.dry {
		return f.tellDry(e, target, n, more)
	}
	total := n
	if more {
		total = 0
	}
	return f.sweep(ctx, e, store, target, total)
}

// countMost bounds the count that comes before the work.
const countMost = 1_000_000

func (f *cleanFlags) open(cmd *cobra.Command, e env) (*nebis.Store, dburl.Target, *sql.DB, error) {
	url := f.db
	if !cmd.Flags().Changed("db") {
		url = e.getenv("NEBIS_DB")
	}
	if url == "" {
		return nil, dburl.Target{}, nil, usagef("--db or NEBIS_DB names the database: %s", dburl.Forms)
	}
	target, err := dburl.Parse(url)
	if err != nil {
		return nil, target, nil, usagef("--db: %w", err)
	}
	target = target.Existing()
	db, err := target.Open()
	if err != nil {
		return nil, target, nil, err
	}
	store, err := nebis.New(db, target.Dialect, &nebis.Options{Table: f.table})
	if err != nil {
		db.Close()
		return nil, target, nil, usagef("--table: %w", err)
	}
	return store, target, db, nil
}

func (f *cleanFlags) sweep(ctx context.Context, e env, store *nebis.Store, target dburl.Target, total int) error {
	bar := newProgress(e, total, " rows")
	lines := &lines{w: e.stderr, quiet: f.json || isTerminal(e.stderr)}
	begun := time.Now()
	done, err := store.Sweep(ctx, &nebis.SweepOptions{
		Batch: f.batch, Pause: f.pause, OlderThan: f.older,
		Progress: func(s nebis.Swept) {
			bar.set(s.Rows)
			lines.tell(s)
		},
	})
	bar.clear()
	stopped := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if err != nil && !stopped {
		err = f.failed(ctx, store, target, err)
		if done.Batches > 0 {
			err = fmt.Errorf("%w; until then: %s", err, rowsText(done.Rows)+" removed")
		}
		return err
	}
	if err := f.tell(e, done, stopped, time.Since(begun)); err != nil {
		return err
	}
	if stopped {
		return &codedError{code: exitStopped}
	}
	return nil
}

// failed says why a table could not be cleaned.
func (f *cleanFlags) failed(ctx context.Context, store *nebis.Store, target dburl.Target, err error) error {
	if errors.Is(err, nebis.ErrSweeping) {
		return fmt.Errorf("%s in %s: another clean-up runs, or was killed less than two minutes ago; this one has ended", f.table, target)
	}
	if plan, planErr := store.Migrate(ctx, true); ctx.Err() == nil && (planErr != nil || len(plan) > 0) {
		return fmt.Errorf("%s in %s is not there, or not migrated yet: Store.Migrate makes it ready; nothing was removed (%w)", f.table, target, err)
	}
	return fmt.Errorf("database %s: %w", target, err)
}

// cleaned is the JSON of clean.
type cleaned struct {
	nebis.Swept
	DryRun  bool    `json:"dry_run,omitempty"`
	More    bool    `json:"more,omitempty"` // the count was broken off
	Stopped bool    `json:"stopped,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (f *cleanFlags) tellDry(e env, target dburl.Target, n int, more bool) error {
	if f.json {
		return printJSON(e.stdout, cleaned{Swept: nebis.Swept{Rows: n}, DryRun: true, More: more})
	}
	least := ""
	if more {
		least = "at least "
	}
	_, err := fmt.Fprintf(e.stdout, "%s in %s: %s%s would be removed\n", f.table, target, least, rowsText(n))
	return err
}

func (f *cleanFlags) tell(e env, done nebis.Swept, stopped bool, took time.Duration) error {
	if f.json {
		return printJSON(e.stdout, cleaned{Swept: done, Stopped: stopped, Seconds: took.Seconds()})
	}
	end := ""
	if stopped {
		end = "stopped before the end: "
	}
	_, err := fmt.Fprintf(e.stdout, "%s%s removed in %s, in %d batches\n", end, rowsText(done.Rows), took.Round(10*time.Millisecond), done.Batches)
	return err
}

func rowsText(n int) string { return report.Count(n) + " rows" }

// lines tells now and then how far it is, where there is no bar.
type lines struct {
	w     io.Writer
	quiet bool
	last  time.Time
}

func (l *lines) tell(s nebis.Swept) {
	if l.last.IsZero() {
		l.last = time.Now()
	}
	if l.quiet || time.Since(l.last) < 10*time.Second {
		return
	}
	l.last = time.Now()
	fmt.Fprintf(l.w, "%s removed so far\n", rowsText(s.Rows))
}

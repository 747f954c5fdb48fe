package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// exitStopped is that of a program which a SIGINT has ended, as shells have it.
const exitStopped = 130

// cleanFlags is the command line of clean.
type cleanFlags struct {
	placeFlags
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
beside it, until none is left; and the answers of keys that are remembered for longer.
It leaves alone what is held, and outcomes that nobody knows. One runs at a time, for
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
	f.placeFlags.flags(cmd)
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
	p, err := f.open(cmd, e, nebis.Options{})
	if err != nil {
		return err
	}
	defer p.db.Close()
	ctx := cmd.Context()
	n, more, err := p.store.Expired(ctx, f.older, countMost)
	if err != nil {
		return f.failed(ctx, p, err)
	}
	if f.dry {
		return f.tellDry(e, p, n, more)
	}
	total := n.Rows + n.Answers
	if more {
		total = 0
	}
	return f.sweep(ctx, e, p, total)
}

// countMost bounds the count that comes before the work.
const countMost = 1_000_000

func (f *cleanFlags) sweep(ctx context.Context, e env, p *place, total int) error {
	bar := newProgress(e, total, " rows")
	lines := &lines{w: e.stderr, quiet: f.json || isTerminal(e.stderr)}
	begun := time.Now()
	done, err := p.store.Sweep(ctx, &nebis.SweepOptions{
		Batch: f.batch, Pause: f.pause, OlderThan: f.older,
		Progress: func(s nebis.Swept) {
			bar.set(s.Rows + s.Answers)
			lines.tell(s)
		},
	})
	bar.clear()
	stopped := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if err != nil && !stopped {
		err = f.failed(ctx, p, err)
		if done.Batches > 0 {
			err = fmt.Errorf("%w; until then: %s", err, sweptText(done)+" removed")
		}
		return err
	}
	if err := f.tell(e, p, done, stopped, time.Since(begun)); err != nil {
		return err
	}
	if stopped {
		return &codedError{code: exitStopped}
	}
	return nil
}

// failed says why a table could not be cleaned.
func (f *cleanFlags) failed(ctx context.Context, p *place, err error) error {
	if errors.Is(err, nebis.ErrSweeping) {
		return fmt.Errorf("%s in %s: another clean-up runs, or was killed less than two minutes ago; this one has ended", p.table, p.target)
	}
	if plan, planErr := p.store.Migrate(ctx, true); ctx.Err() == nil && (planErr != nil || len(plan) > 0) {
		return fmt.Errorf("%s in %s is not there, or not migrated yet: Store.Migrate makes it ready; nothing was removed (%w)", p.table, p.target, err)
	}
	return fmt.Errorf("database %s: %w", p.target, err)
}

// cleaned is the JSON of clean.
type cleaned struct {
	nebis.Swept
	DryRun  bool    `json:"dry_run,omitempty"`
	More    bool    `json:"more,omitempty"` // the count was broken off
	Stopped bool    `json:"stopped,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (f *cleanFlags) tellDry(e env, p *place, n nebis.Swept, more bool) error {
	if f.json {
		return printJSON(e.stdout, cleaned{Swept: n, DryRun: true, More: more})
	}
	least := ""
	if more {
		least = "at least "
	}
	_, err := fmt.Fprintf(e.stdout, "%s in %s: %s%s would be removed\n", p.table, p.target, least, sweptText(n))
	return err
}

func (f *cleanFlags) tell(e env, p *place, done nebis.Swept, stopped bool, took time.Duration) error {
	if f.json {
		return printJSON(e.stdout, cleaned{Swept: done, Stopped: stopped, Seconds: took.Seconds()})
	}
	end := ""
	if stopped {
		end = "stopped before the end: "
	}
	_, err := fmt.Fprintf(e.stdout, "%s in %s: %s%s removed in %s, in %s\n", p.table, p.target, end, sweptText(done), took.Round(10*time.Millisecond), report.Plural(done.Batches, "batch", "batches"))
	return err
}

func sweptText(s nebis.Swept) string {
	text := report.Plural(s.Rows, "row", "rows")
	if s.Answers > 0 {
		text += " and the answers of " + report.Count(s.Answers) + " more"
	}
	return text
}

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
	fmt.Fprintf(l.w, "%s removed so far\n", sweptText(s))
}

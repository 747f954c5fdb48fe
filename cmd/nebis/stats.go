package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/stuck"
)

// statsFlags is the command line of stats.
type statsFlags struct {
	placeFlags
	over time.Duration
	json bool
}

// stuckOver is after how long something counts as stuck, and statsBudget how long
// stats looks for it where it has to walk through rows.
const (
	stuckOver   = time.Minute
	statsBudget = 3 * time.Second
)

func newStats(e env) *cobra.Command {
	f := &statsFlags{}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Shows how many keys there are, and what is stuck",
		Long: `Shows how many keys there are by scope and state, what waits for clean-up, how large
the table is, and what is stuck: keys whose outcome is unknown, and transactions that
have held a key for long. It only reads.

On a large table it counts a sample and says "about", so it takes no longer there.

Exit code: 0 shown, 1 it could not be read, 2 wrong usage.`,
		Example: `  nebis stats --db mysql://ann:secret@localhost/shop
  NEBIS_DB=sqlite:shop.db nebis stats --json
  nebis stats --stuck-after 10s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.over <= 0 {
				return usagef("--stuck-after: want more than nothing")
			}
			p, err := f.open(cmd, e, nebis.Options{})
			if err != nil {
				return err
			}
			defer p.db.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			return f.run(ctx, e.stdout, p)
		},
	}
	f.placeFlags.flags(cmd)
	stuckFlag(cmd, &f.over)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

func stuckFlag(cmd *cobra.Command, over *time.Duration) {
	cmd.Flags().DurationVar(over, "stuck-after", stuckOver, "a transaction that holds a key for longer is stuck")
}

// numbers is the JSON of stats.
type numbers struct {
	Database string `json:"database"`
	Table    string `json:"table"`
	Migrated bool   `json:"migrated"`
	*keytable.Stats
	Oldest  *keytable.Row       `json:"oldest_processing,omitempty"`
	Unknown []keytable.Row      `json:"unknown"`
	Looked  int                 `json:"looked_at"` // rows, for the two above
	All     bool                `json:"looked_at_all"`
	Held    []stuck.Transaction `json:"stuck_transactions"`
	Limits  []string            `json:"limits"`
}

func (f *statsFlags) run(ctx context.Context, w io.Writer, p *place) error {
	n, err := f.count(ctx, p)
	if err != nil {
		return p.failed(err)
	}
	if f.json {
		return printJSON(w, n)
	}
	return n.print(w, p, f.over)
}

func (f *statsFlags) count(ctx context.Context, p *place) (*numbers, error) {
	t, err := keytable.Look(ctx, p.db, p.target.Dialect, p.table)
	if err != nil {
		return nil, err
	}
	n := &numbers{Database: p.target.String(), Table: p.table, Migrated: t.Adopted(), Unknown: []keytable.Row{}, Held: []stuck.Transaction{}, Limits: []string{}}
	if n.Stats, err = t.Stats(ctx); err != nil {
		return nil, err
	}
	page, err := t.Unfinished(ctx, 1000, statsBudget)
	if err != nil {
		return nil, err
	}
	n.Looked, n.All = page.Looked, page.Whole
	for _, r := range page.Rows {
		if n.Oldest == nil || !r.CreatedAt.After(n.Oldest.CreatedAt) {
			n.Oldest = &r
		}
		if r.State == nebis.StateUnknown {
			n.Unknown = append(n.Unknown, r)
		}
	}
	found, err := stuck.Find(ctx, p.db, p.target.Dialect, t, f.over, statsBudget)
	if err != nil {
		return nil, err
	}
	n.Held, n.Limits = append(n.Held, found.Held...), append(n.Limits, found.Limits...)
	return n, nil
}

func (n *numbers) print(w io.Writer, p *place, over time.Duration) error {
	fmt.Fprintf(w, "%s:\n\n", p)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	about := ""
	if n.About {
		about = "about "
	}
	fmt.Fprintf(table, "keys\t%s%s\n", about, report.Count(int(n.Rows)))
	for _, g := range n.Groups {
		fmt.Fprintf(table, "  %s, %s\t%s%s\n", report.Clean(g.Scope), g.State, about, report.Count(int(g.Rows)))
	}
	fmt.Fprintf(table, "wait for clean-up\t%s\n", n.expired())
	if n.Bytes > 0 {
		fmt.Fprintf(table, "size\t%s%s\n", room(n.Bytes), map[bool]string{true: ", the whole file"}[n.Whole])
	}
	if n.Oldest != nil {
		fmt.Fprintf(table, "oldest not finished\t%d, scope %s, claimed %s UTC\n", n.Oldest.ID, report.Clean(n.Oldest.Scope), brief(n.Oldest.CreatedAt))
	}
	fmt.Fprintf(table, "unknown outcomes\t%s\n", n.unknown())
	fmt.Fprintf(table, "stuck transactions\t%d (over %v)\n", len(n.Held), over)
	for _, x := range n.Held {
		fmt.Fprintf(table, "  \t%s\n", report.CleanLong(x.String()))
	}
	for _, l := range n.Limits {
		fmt.Fprintf(table, "  \t%s\n", l)
	}
	if !n.Migrated {
		fmt.Fprintf(table, "\nThe table is not migrated yet: it has no leases and no expiry.\n")
	}
	return table.Flush()
}

func (n *numbers) expired() string {
	text := report.Count(int(n.Expired))
	if n.AtLeast {
		text = "at least " + text
	}
	switch {
	case n.Unstamped:
		text += ", and old rows that have no expiry yet"
	case n.Lagging > 0:
		text += fmt.Sprintf(", %s of them for more than a day: run nebis clean", report.Count(int(n.Lagging)))
	}
	return text
}

func (n *numbers) unknown() string {
	text := fmt.Sprint(len(n.Unknown))
	if len(n.Unknown) > 0 {
		text += ": nebis list --status unknown shows them"
	}
	if !n.All {
		text += fmt.Sprintf(" (of the newest %s rows)", report.Count(n.Looked))
	}
	return text
}

func room(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// A failureView is the JSON of a delivery that has failed.
type failureView struct {
	Provider string    `json:"provider"`
	Account  string    `json:"account,omitempty"`
	Delivery string    `json:"delivery"`
	Order    string    `json:"order,omitempty"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`
	First    time.Time `json:"first_at"`
	Last     time.Time `json:"last_at"`
	Done     time.Time `json:"done_at,omitzero"`
}

// failuresFlags is the command line of callback failures.
type failuresFlags struct {
	placeFlags
	provider string
	limit    int
	json     bool
}

func newFailures(e env) *cobra.Command {
	f := &failuresFlags{}
	cmd := &cobra.Command{
		Use:   "failures [--provider PROVIDER]",
		Short: "Lists the callbacks whose handling has failed",
		Long: `Lists the callbacks whose handling has failed: how often, the last error, and whether
a later try went through. First those that none has; the latest first. It only reads.

The provider sends such a callback again for a while, and then no more: what is still
open after its last try is for a person. They are kept as long as deliveries are, 35
days, and only where callback.Migrate (or nebis migrate up --for callback) has made
their table.

Exit code: 0 none is open, 1 some are, 2 could not look.`,
		Example: `  nebis callback failures --db mysql://ann:secret@localhost/shop
  nebis callback failures --provider alipay --limit 20 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return unable(f.run(cmd, e)) },
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "only those of this provider, by the name that the program gave it")
	flags.IntVar(&f.limit, "limit", 50, "how many at most")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

func (f *failuresFlags) run(cmd *cobra.Command, e env) error {
	if f.limit < 1 {
		return usagef("--limit: want 1 at least")
	}
	p, err := f.open(cmd, e, nebis.Options{})
	if err != nil {
		return err
	}
	defer p.db.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), within)
	defer cancel()
	all, err := callback.Failures(ctx, p.db, p.store, f.provider, f.limit)
	if err != nil {
		return fmt.Errorf("%w; nebis migrate up --for callback makes its table", p.failed(err))
	}
	if err := f.print(e, p, all); err != nil {
		return err
	}
	if open(all) > 0 {
		return &codedError{code: exitFound}
	}
	return nil
}

// open counts those that no later try has made good.
func open(all []callback.Failure) (n int) {
	for _, x := range all {
		if x.Done.IsZero() {
			n++
		}
	}
	return n
}

func (f *failuresFlags) print(e env, p *place, all []callback.Failure) error {
	if f.json {
		list := []failureView{}
		for _, x := range all {
			x.First, x.Last = x.First.UTC(), x.Last.UTC()
			if !x.Done.IsZero() {
				x.Done = x.Done.UTC()
			}
			list = append(list, failureView(x))
		}
		return printJSON(e.stdout, list)
	}
	fmt.Fprintf(e.stdout, "%s:\n\n", p)
	if len(all) == 0 {
		fmt.Fprintln(e.stdout, "no failures")
		return nil
	}
	table := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROVIDER\tORDER\tDELIVERY\tFAILED\tLAST (UTC)\tDONE (UTC)\tWHY")
	for _, x := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", report.Clean(x.Provider), report.Clean(x.Order), report.Clean(x.Delivery), x.Attempts,
			brief(x.Last.UTC()), doneAt(x), cut(report.Clean(x.Error), 60))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\n%d open, %d done since.\n", open(all), len(all)-open(all))
	if len(all) == f.limit {
		fmt.Fprintln(e.stdout, "There may be more: --limit")
	}
	return nil
}

func doneAt(x callback.Failure) string {
	if x.Done.IsZero() {
		return "open"
	}
	return brief(x.Done.UTC())
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/reconcile"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// reconcileFlags is the command line of reconcile.
type reconcileFlags struct {
	placeFlags
	o                   reconcile.Options
	ids, same, expected []string
	since               string
	keys, json          bool
}

func newReconcile(e env) *cobra.Command {
	f := &reconcileFlags{}
	cmd := &cobra.Command{
		Use:   "reconcile --scope SCOPE --sql SELECT --id WHERE",
		Short: "Lists keys whose stored answer and business row do not agree",
		Long: `Lists keys that are done, and whose row in the business's own table is missing, or is
not as it should be: the order was cancelled, deleted or changed after its answer was
stored, and a repeated request is still told the answer.

--sql is a SELECT with one ? for an id. --id says where an answer has that id: a JSON
pointer such as /id or /data/order/id into its JSON, or location:/orders/{id}, a piece
of its Location header. Given several times, the first that an answer has is taken.
Without more, the row only has to be there. --same wants a column to have what the
answer's JSON has (an answer without JSON, as of a form, is not compared), --expect
wants it to have one of some values.

It only reads, in small read-only transactions, and --sql calls only functions that
compute. It looks through all keys of the scope, the newest first, and stops after
--limit findings. Refusals (status 400 and up) and keys without an answer are counted,
and not compared.

Exit code: 0 all agree, 1 findings, 2 it could not run to the end, or wrong usage.`,
		Example: `  nebis reconcile --db sqlite:nebis-demo.db --scope order --id 'location:/orders/{id}' \
      --sql 'SELECT item, qty, status FROM nebis_demo_orders WHERE id = ?' \
      --same item=/item --same qty=/qty --expect status=accepted,paid,picked-up
  nebis reconcile --db mysql://ann:secret@localhost/shop --scope order --id /data/id --id 'location:/receipt?order={id}' \
      --sql "SELECT 1 FROM orders WHERE id = ? AND status <> 'cancelled'" --since 24h --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return unable(f.open(cmd, e))
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *reconcileFlags) flags(cmd *cobra.Command) {
	f.placeFlags.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.o.Scope, "scope", "", "the scope whose answers are compared, such as order")
	flags.StringVar(&f.o.SQL, "sql", "", "the `SELECT` that finds the row of an id, with one ? for it")
	flags.StringArrayVar(&f.ids, "id", nil, "`WHERE` an answer has the id: "+reconcile.Sources+"; may be given several times")
	flags.StringArrayVar(&f.same, "same", nil, "`COLUMN=/POINTER`: the column must have what the answer's JSON has there")
	flags.StringArrayVar(&f.expected, "expect", nil, "`COLUMN=VALUE,…`: the column must have one of these values")
	flags.StringVar(&f.since, "since", "", "only keys claimed since then: `TIME` as 24h, 7d, 2026-01-31 or 2026-01-31T08:00:00Z")
	flags.IntVar(&f.o.Limit, "limit", 50, "how many findings at most")
	flags.Int64Var(&f.o.After, "after", 0, "go on after this id: the last one of the page before")
	flags.BoolVar(&f.o.Oldest, "oldest", false, "the oldest first")
	flags.DurationVar(&f.o.Timeout, "timeout", 10*time.Second, "how long one lookup may take")
	flags.BoolVar(&f.keys, "keys", false, "with whole keys, owners and values; otherwise long ones are shortened")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line, whole, and the sum in the last line")
}

func (f *reconcileFlags) check() (err error) {
	switch {
	case f.o.Scope == "":
		return usagef("--scope names the business whose answers are compared, such as order")
	case f.o.SQL == "":
		return usagef("--sql finds the row of an id, as SELECT status FROM orders WHERE id = ?")
	case len(f.ids) == 0:
		return usagef("--id says where an answer has the id: %s", reconcile.Sources)
	case f.o.Limit < 1:
		return usagef("--limit: want 1 at least")
	case f.o.After < 0:
		return usagef("--after: want an id")
	case f.o.Timeout <= 0:
		return usagef("--timeout: want more than nothing")
	}
	if f.since != "" {
		if f.o.Since, err = pointInTime(f.since, time.Now()); err != nil {
			return usagef("--since %q: want 24h, 7d, 2026-01-31 or 2026-01-31T08:00:00Z", f.since)
		}
	}
	return f.rules()
}

// rules reads --id, --same and --expect.
func (f *reconcileFlags) rules() error {
	for _, s := range f.ids {
		source, err := reconcile.ParseSource(s)
		if err != nil {
			return usagef("--id: %w", err)
		}
		f.o.IDs = append(f.o.IDs, source)
	}
	for _, s := range f.same {
		same, err := reconcile.ParseSame(s)
		if err != nil {
			return usagef("--same: %w", err)
		}
		f.o.Same = append(f.o.Same, same)
	}
	for _, s := range f.expected {
		column, values, ok := strings.Cut(s, "=")
		if !ok || column == "" {
			return usagef("--expect: %q is not like status=accepted,paid", s)
		}
		f.o.Expect = append(f.o.Expect, reconcile.Expect{Column: column, Values: splitNames([]string{values})})
	}
	return nil
}

func (f *reconcileFlags) open(cmd *cobra.Command, e env) error {
	p, err := f.openReadOnly(cmd, e)
	if err != nil {
		return err
	}
	defer p.db.Close()
	return f.run(cmd.Context(), e, p)
}

func (f *reconcileFlags) run(ctx context.Context, e env, p *place) error {
	f.o.Table = p.table
	bar := newProgress(e, 0, " keys")
	f.o.Progress = bar.set
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	var found []reconcile.Finding
	f.o.Found = func(x reconcile.Finding) error {
		if f.json {
			bar.clear()
			return enc.Encode(x)
		}
		found = append(found, x)
		return nil
	}
	sum, err := reconcile.Run(ctx, p.db, p.target.Dialect, f.o)
	bar.clear()
	stopped := errors.Is(err, context.Canceled)
	if mistake := new(find.Mistake); errors.As(err, &mistake) {
		return &usageError{err}
	}
	if err != nil && !stopped {
		return p.failed(err)
	}
	if f.json {
		err = enc.Encode(sum)
	} else {
		err = f.print(e.stdout, p, found, sum, stopped)
	}
	switch {
	case err != nil:
		return err
	case stopped:
		return &codedError{code: exitUnable}
	case sum.Bad() > 0:
		return &codedError{code: exitFound}
	}
	return nil
}

func (f *reconcileFlags) print(w io.Writer, p *place, found []reconcile.Finding, s *reconcile.Sum, stopped bool) error {
	fmt.Fprintf(w, "%s, scope %s:\n\n", p, report.Clean(f.o.Scope))
	if len(found) > 0 {
		if err := f.table(w, found); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Compared %s: %s agree, %s missing, %s different, %s unreadable.\n", report.Count(s.Compared), report.Count(s.Agree),
		report.Count(s.Missing), report.Count(s.Different), report.Count(s.Unreadable))
	if s.Refusals+s.NotKept > 0 {
		fmt.Fprintf(w, "Left out: %s refusals, %s keys without an answer.\n", report.Count(s.Refusals), report.Count(s.NotKept))
	}
	if s.NoJSON > 0 {
		fmt.Fprintf(w, "%s answers have no JSON: --same was not asked of their rows.\n", report.Count(s.NoJSON))
	}
	switch {
	case stopped:
		fmt.Fprintf(w, "Stopped before the end; on from there: --after %d\n", s.Last)
	case !s.Whole:
		fmt.Fprintf(w, "The next page: --after %d\n", s.Last)
	default:
		fmt.Fprintln(w, "Looked to the end.")
	}
	return nil
}

func (f *reconcileFlags) table(w io.Writer, found []reconcile.Finding) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tOWNER\tKEY\tCLAIMED (UTC)\tROW\tVERDICT\tWHY")
	for _, x := range found {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", x.ID, f.short(x.Owner), f.short(x.Key), brief(x.CreatedAt), f.short(x.Row), x.Verdict, f.why(x))
	}
	return table.Flush()
}

func (f *reconcileFlags) why(x reconcile.Finding) string {
	if x.Verdict == reconcile.Missing {
		return "no such row"
	}
	var all []string
	for _, d := range x.Differs {
		have := "NULL"
		if d.Have != nil {
			have = f.short(*d.Have)
		}
		var want []string
		for _, v := range d.Want {
			want = append(want, f.short(v))
		}
		all = append(all, fmt.Sprintf("%s is %s, not %s", report.Clean(d.Column), have, strings.Join(want, " or ")))
	}
	if x.Why != "" {
		all = append(all, report.Clean(x.Why))
	}
	return strings.Join(all, "; ")
}

func (f *reconcileFlags) short(s string) string { return shorten(s, f.keys) }

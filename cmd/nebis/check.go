package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/daily"
	"github.com/nebis-dev/nebis/cmd/internal/notify"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// checkFlags is the command line of check.
type checkFlags struct {
	placeFlags
	over, budget time.Duration
	ignore       []string
	readOnly     bool
	json         bool
	notify, as   string
	hook         *notify.Hook
}

// checkWithin bounds an inspection, whatever the database does.
const checkWithin = 10 * time.Minute

func newCheck(e env) *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "The daily inspection: are duplicates stopped, is anything stuck, is the table sound",
		Long: `Inspects a key table, for once a day: repeated writes of the last day against the week
before, keys used for two different things, outcomes that nobody knows, transactions that
hold a key for long, growth and clean-up, both clocks, the table's shape, the server's
settings, how long callbacks are remembered; and it does an operation of its own, repeats
it and takes an expired key over, in the scope nebis.check, whose rows it removes.

Each finding says what is so, why it matters and what to do. The first line is a summary,
as Nagios wants it. Notes are worth knowing, and change neither it nor the exit code.

Exit code: 0 nothing to do, 1 findings, 2 it could not run, or wrong usage.`,
		Example: `  nebis check --db mysql://ann:secret@localhost/shop
  NEBIS_DB=sqlite:shop.db nebis check --json
  nebis check --read-only --ignore half-open
  NEBIS_NOTIFY='https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…' nebis check`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd, e); err != nil {
				return err
			}
			return f.run(cmd, e)
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *checkFlags) flags(cmd *cobra.Command) {
	f.placeFlags.flags(cmd)
	stuckFlag(cmd, &f.over)
	flags := cmd.Flags()
	flags.DurationVar(&f.budget, "budget", time.Minute, "how long it looks, at most, where it has to walk through rows")
	flags.StringArrayVar(&f.ignore, "ignore", nil, "`CODE` of a finding that is known and accepted; may be given several times")
	flags.BoolVar(&f.readOnly, "read-only", false, "write nothing: try no operation, remember no number of rows")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
	flags.StringVar(&f.notify, "notify", "", "post findings to this `URL`; also from NEBIS_NOTIFY, where ps does not show it")
	flags.StringVar(&f.as, "notify-as", "", "`FORM` of the post: wecom (企业微信), dingtalk (钉钉), slack or json; default: as the URL's host wants it.\nA DingTalk robot's secret (加签) comes from NEBIS_NOTIFY_SECRET")
}

func (f *checkFlags) check(cmd *cobra.Command, e env) (err error) {
	switch {
	case f.over <= 0:
		return usagef("--stuck-after: want more than nothing")
	case f.budget <= 0:
		return usagef("--budget: want more than nothing")
	}
	url := f.notify
	if !cmd.Flags().Changed("notify") {
		url = e.getenv("NEBIS_NOTIFY")
	}
	if url != "" {
		if f.hook, err = notify.New(url, f.as, e.getenv("NEBIS_NOTIFY_SECRET")); err != nil {
			return usagef("--notify: %w", err)
		}
	}
	return nil
}

func (f *checkFlags) run(cmd *cobra.Command, e env) error {
	r, err := f.inspect(cmd, e)
	if usage := new(usageError); errors.As(err, &usage) {
		return err
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("stopped before the end: there is no result")
		}
		r = &daily.Report{Findings: []daily.Finding{}, Error: err.Error()}
	}
	text := words(r)
	if f.json {
		err = printJSON(e.stdout, r)
	} else {
		_, err = io.WriteString(e.stdout, text)
	}
	if err != nil {
		return unable(err)
	}
	code := codeOf(r)
	if code != exitOK && f.hook != nil {
		// The context may have ended, and somebody has to be told that as well.
		if err := f.hook.Post(context.WithoutCancel(cmd.Context()), text, r); err != nil {
			fmt.Fprintf(e.stderr, "nebis: the findings could not be posted: %v\n", err)
		}
	}
	if code != exitOK {
		return &codedError{code: code}
	}
	return nil
}

func codeOf(r *daily.Report) int {
	switch {
	case r.Error != "":
		return exitUnable
	case r.Bad() > 0:
		return exitFound
	}
	return exitOK
}

func (f *checkFlags) inspect(cmd *cobra.Command, e env) (*daily.Report, error) {
	p, err := f.open(cmd, e, nebis.Options{})
	if err != nil {
		return nil, err
	}
	defer p.db.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), checkWithin)
	defer cancel()
	i := daily.Inspection{
		DB: p.db, Dialect: p.target.Dialect, Store: p.store, Over: f.over, Budget: f.budget, Ignore: f.ignore, ReadOnly: f.readOnly,
	}
	r, err := i.Run(ctx)
	if err != nil {
		return nil, p.failed(err)
	}
	r.Database = p.target.String()
	return r, nil
}

// words is the report for people. Its first line is all that Nagios shows.
func words(r *daily.Report) string {
	if r.Error != "" {
		return "nebis check CRITICAL: could not run: " + r.Error + "\n"
	}
	var b strings.Builder
	about := ""
	if r.About {
		about = "about "
	}
	where := fmt.Sprintf("table %s in %s, %s%s", r.Table, r.Database, about, report.Plural(int(r.Rows), "key", "keys"))
	if r.Bad() == 0 {
		fmt.Fprintf(&b, "nebis check OK: %s\n", where)
	} else {
		fmt.Fprintf(&b, "nebis check WARNING: %s: %s\n", codes(r), where)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s %s: %s.\n  why: %s.\n  do:  %s.\n", f.Level, f.Code, f.What, f.Why, strings.TrimSuffix(f.Do, "."))
	}
	list(&b, "Looked at:", r.Looked)
	list(&b, "Not looked at:", r.Skipped)
	return b.String()
}

// codes names the findings that somebody has to do something about.
func codes(r *daily.Report) string {
	var all []string
	seen := map[string]int{}
	for _, f := range r.Findings {
		if f.Level != nebis.Note {
			if seen[f.Code]++; seen[f.Code] == 1 {
				all = append(all, f.Code)
			}
		}
	}
	return strings.Join(all, ", ")
}

func list(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

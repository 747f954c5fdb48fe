package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/audit"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// showFlags is the command line of show.
type showFlags struct {
	keyFlags
	json, full bool
}

func newShow(e env) *cobra.Command {
	f := &showFlags{}
	cmd := &cobra.Command{
		Use:   "show --scope SCOPE [--owner OWNER] KEY",
		Short: "Shows what became of a key",
		Long: `Shows what became of a key: in progress, done, free, unknown or expired, when, after
how many attempts, and what people did to it before. It only reads.

Exit code: 0 shown, 1 there is no such key or it could not be read, 2 wrong usage.`,
		Example: `  nebis show --db mysql://ann:secret@localhost/shop --scope order --owner user-7 0f8c2a
  NEBIS_DB=sqlite:shop.db nebis show --scope order 0f8c2a --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.open(cmd, e, args[0])
			if err != nil {
				return err
			}
			defer s.db.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			return f.run(ctx, e, s)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of text")
	cmd.Flags().BoolVar(&f.full, "full", false, "with the stored answer, body and all: personal data")
	return cmd
}

func (f *showFlags) run(ctx context.Context, e env, s *subject) error {
	entry, err := s.look(ctx)
	if err != nil {
		return err
	}
	past, err := s.log.List(ctx, s.db, s.scope, s.column(), s.key)
	switch {
	case err != nil:
		return s.failed(err)
	case entry == nil && len(past) > 0:
		return fmt.Errorf("%w; %s has %s of it", s.missing(ctx), s.log, report.Plural(len(past), "line", "lines"))
	case entry == nil:
		return s.missing(ctx)
	}
	if f.json {
		return f.printJSON(e.stdout, s, entry, past)
	}
	return f.printText(e.stdout, s, entry, past)
}

// shownKey is the JSON of show.
type shownKey struct {
	Table      string          `json:"table"`
	Scope      string          `json:"scope"`
	Owner      string          `json:"owner"`
	Key        string          `json:"key"`
	State      nebis.State     `json:"state"`
	Attempts   int             `json:"attempts"`
	Error      string          `json:"error,omitempty"`
	CreatedAt  time.Time       `json:"created_at,omitzero"`
	UpdatedAt  time.Time       `json:"updated_at,omitzero"`
	LeaseUntil time.Time       `json:"lease_until,omitzero"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	SeenUntil  time.Time       `json:"seen_until,omitzero"`
	Answer     *answer         `json:"answer,omitempty"`
	Response   json.RawMessage `json:"response,omitempty"`
	Decisions  []audit.Record  `json:"decisions"`
}

func (f *showFlags) printJSON(w io.Writer, s *subject, entry *nebis.Entry, past []audit.Record) error {
	v := shownKey{
		Table: s.table, Scope: s.scope, Owner: s.column(), Key: s.key, State: entry.State, Attempts: entry.Attempts, Error: entry.Error,
		CreatedAt: entry.CreatedAt, UpdatedAt: entry.UpdatedAt, LeaseUntil: entry.LeaseUntil, ExpiresAt: entry.ExpiresAt, SeenUntil: entry.SeenUntil,
		Answer: summary(entry.Response), Decisions: append([]audit.Record{}, past...),
	}
	if f.full && json.Valid(entry.Response) {
		v.Response = entry.Response
	}
	return printJSON(w, v)
}

func (f *showFlags) printText(w io.Writer, s *subject, entry *nebis.Entry, past []audit.Record) error {
	fmt.Fprintf(w, "%s:\n\n", s)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, text)
		}
	}
	line("table", s.table)
	line("state", string(entry.State)+means(entry))
	line("why", report.CleanLong(entry.Error))
	line("attempts", fmt.Sprint(entry.Attempts))
	line("claimed", moment(entry.CreatedAt))
	line("changed", moment(entry.UpdatedAt))
	line("lease until", moment(entry.LeaseUntil))
	if keeps(entry) {
		line("kept until", moment(entry.ExpiresAt))
	}
	line("remembered until", moment(entry.SeenUntil))
	line("answer", described(entry))
	for _, r := range past {
		line("by a person", fmt.Sprintf("%s, %s: %s, %s → %s, %q", moment(r.At), report.Clean(r.By), r.Action, r.Before, r.After, report.CleanLong(r.Reason)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if f.full && entry.Response != nil {
		fmt.Fprintf(w, "\n%s\n", printable(entry.Response))
	}
	if entry.State == nebis.StateUnknown {
		fmt.Fprint(w, "\n", whatToDo)
	}
	return nil
}

var meaning = map[nebis.State]string{
	nebis.StateInProgress: ": it runs",
	nebis.StateDone:       ": a duplicate gets the answer",
	nebis.StateFree:       ": the next request runs",
	nebis.StateUnknown:    ": it may or may not have happened",
	nebis.StateExpired:    ": the next request runs",
}

// means says what a state means to who sends the key again.
func means(entry *nebis.Entry) string {
	if entry.State == nebis.StateDone && entry.Response == nil {
		return ": a duplicate is told that it is done, and that no answer is kept"
	}
	return meaning[entry.State]
}

// keeps reports whether the row's expiry is worth telling. One whose outcome is unknown
// stays until somebody resolves it; and once an answer is gone, it is the mark alone
// that is kept.
func keeps(entry *nebis.Entry) bool {
	faded := entry.Response == nil && !entry.SeenUntil.IsZero()
	return entry.State != nebis.StateUnknown && !faded
}

const whatToDo = `Find out on the other side whether it happened. Then say so, with a reason:
nebis resolve … --done (with --location URL where the result is), or nebis resolve … --free
`

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05.000 UTC")
}

// described says what a duplicate gets, without the body.
func described(entry *nebis.Entry) string {
	a := summary(entry.Response)
	switch {
	case a == nil && entry.State == nebis.StateDone:
		return "not kept"
	case a == nil:
		return ""
	case a.Status == 0:
		return fmt.Sprintf("a result of %s", report.Plural(a.Bytes, "byte", "bytes"))
	case a.Location != "":
		return fmt.Sprintf("%d to %s, %s in all", a.Status, report.CleanLong(a.Location), report.Plural(a.Bytes, "byte", "bytes"))
	}
	return fmt.Sprintf("%d, %s in all", a.Status, report.Plural(a.Bytes, "byte", "bytes"))
}

// printable is JSON for a terminal.
func printable(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		b.Write(text)
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, b.String())
}

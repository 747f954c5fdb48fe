package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/audit"
	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/outbox"
)

// A callView is the JSON of a call.
type callView struct {
	ID            int64           `json:"id"`
	Name          string          `json:"name"`
	State         outbox.State    `json:"state"`
	Key           string          `json:"key,omitempty"`
	Attempts      int             `json:"attempts"`
	Compensations int             `json:"compensations"`
	Error         string          `json:"error,omitempty"`
	Due           time.Time       `json:"due,omitzero"`
	Overdue       bool            `json:"overdue"`
	Held          bool            `json:"held"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	Decisions     []audit.Record  `json:"decisions,omitempty"`
}

func viewOf(j *outbox.Job) callView {
	return callView{
		ID: j.ID, Name: j.Name, State: j.State, Attempts: j.Attempts, Compensations: j.Compensations, Error: j.Error,
		Due: j.Due, Overdue: j.Overdue, Held: j.Held, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
}

func newOutboxList(e env) *cobra.Command {
	var f outboxFlags
	var filter outbox.Filter
	cmd := &cobra.Command{
		Use:   "list [--state STATE] [--name NAME]",
		Short: "Lists calls, the newest first",
		Long: `Lists calls, the newest first, without what they carry. It only reads.

Exit code: 0 listed, 1 it could not be read, 2 wrong usage.`,
		Example: `  nebis outbox list --db mysql://ann:secret@localhost/shop --state dead
  nebis outbox list --state failed --name charge --limit 20 --before 1789 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case filter.State != "" && !slices.Contains(outbox.States(), filter.State):
				return usagef("--state %q: want one of %v", filter.State, outbox.States())
			case filter.Limit < 1:
				return usagef("--limit: want 1 at least")
			}
			t, err := f.open(cmd, e)
			if err != nil {
				return err
			}
			defer t.db.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			jobs, err := t.box.List(ctx, filter)
			if err != nil {
				return t.failed(err)
			}
			if !f.json {
				fmt.Fprintf(e.stdout, "table %s in %s:\n\n", t.table, t.target)
			}
			return listCalls(e.stdout, f.json, jobs, filter.Limit)
		},
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar((*string)(&filter.State), "state", "", "only those in this state: pending, running, done, failed, compensating, compensated, dead")
	flags.StringVar(&filter.Name, "name", "", "only calls of this name")
	flags.Int64Var(&filter.Before, "before", 0, "only those before this id: the last one of the page before")
	flags.IntVar(&filter.Limit, "limit", 50, "how many at most")
	return cmd
}

func listCalls(w io.Writer, asJSON bool, jobs []*outbox.Job, limit int) error {
	if asJSON {
		list := []callView{}
		for _, j := range jobs {
			list = append(list, viewOf(j))
		}
		return printJSON(w, list)
	}
	if len(jobs) == 0 {
		fmt.Fprintln(w, "no calls")
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tSTATE\tTRIES\tCHANGED (UTC)\tDUE (UTC)\tWHY")
	for _, j := range jobs {
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", j.ID, report.Clean(j.Name), j.State, j.Attempts, brief(j.UpdatedAt), brief(j.Due), report.Clean(j.Error))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(jobs) == limit {
		fmt.Fprintf(w, "\nthe next page: --before %d\n", jobs[limit-1].ID)
	}
	return nil
}

func newOutboxShow(e env) *cobra.Command {
	var f outboxFlags
	var full bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Shows one call, and what people did to it",
		Long: `Shows one call: its state, its tries, when the next is due, why the last one failed,
and what people did to it before. It only reads.

Exit code: 0 shown, 1 there is no such call or it could not be read, 2 wrong usage.`,
		Example: `  nebis outbox show --db mysql://ann:secret@localhost/shop 17 --full`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := callID(cmd, args)
			if err != nil {
				return err
			}
			t, err := f.open(cmd, e)
			if err != nil {
				return err
			}
			defer t.db.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			j, err := t.show(ctx, id)
			if err != nil {
				return err
			}
			past, err := t.log.List(ctx, t.db, j.Name, "*", strconv.FormatInt(id, 10))
			if err != nil {
				return t.failed(err)
			}
			return showCall(e.stdout, f.json, full, j, past)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&full, "full", false, "with what it carries and its result: personal data")
	return cmd
}

func showCall(w io.Writer, asJSON, full bool, j *outbox.Job, past []audit.Record) error {
	if asJSON {
		v := viewOf(j)
		v.Key, v.Decisions = j.Key, append([]audit.Record{}, past...)
		if full {
			v.Payload, v.Result = j.Payload, j.Result
		}
		return printJSON(w, v)
	}
	fmt.Fprintf(w, "call %d (%s):\n\n", j.ID, report.Clean(j.Name))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, text)
		}
	}
	line("state", string(j.State)+stateMeans(j))
	line("why", report.CleanLong(j.Error))
	line("tries", strconv.Itoa(j.Attempts))
	if j.Compensations > 0 {
		line("compensations", strconv.Itoa(j.Compensations))
	}
	line("key", j.Key)
	line("added", moment(j.CreatedAt))
	line("changed", moment(j.UpdatedAt))
	if j.Held {
		line("lease until", moment(j.Due))
	} else {
		line("due", moment(j.Due))
	}
	for _, r := range past {
		line("by a person", fmt.Sprintf("%s, %s: %s, %s → %s, %q", moment(r.At), report.Clean(r.By), r.Action, r.Before, r.After, report.CleanLong(r.Reason)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if full {
		fmt.Fprintf(w, "\n%s\n", printable(j.Payload))
		if j.Result != nil {
			fmt.Fprintf(w, "\nresult:\n%s\n", printable(j.Result))
		}
	}
	return nil
}

func stateMeans(j *outbox.Job) string {
	switch {
	case j.Held && j.Overdue:
		return ": its worker has vanished; another one takes it"
	case j.Held:
		return ": a worker has it"
	}
	return map[outbox.State]string{
		outbox.Pending:      ": waits for its first try",
		outbox.Done:         ": it was made",
		outbox.Failed:       ": waits for its next try",
		outbox.Compensating: ": failed for good, and waits for its compensation",
		outbox.Compensated:  ": failed for good, and its compensation has run",
		outbox.Dead:         ": waits for a person: retry or compensate",
	}[j.State]
}

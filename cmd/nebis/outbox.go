package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/audit"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/outbox"
)

func newOutbox(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Looks after calls to the outside: list, show, retry, park, compensate",
		Long: `Looks after the calls to the outside that a program has added to its outbox: which
wait, which have failed, and what a person makes of them.`,
		Args: noCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to do: list, show, retry, park or compensate")
		},
	}
	cmd.AddCommand(newOutboxList(e), newOutboxShow(e))
	for _, a := range outboxActions {
		cmd.AddCommand(a.command(e))
	}
	return cmd
}

// outboxFlags name an outbox on the command line.
type outboxFlags struct {
	db, table string
	json      bool
}

func (f *outboxFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.db, "db", "", "database, also from NEBIS_DB:\n"+dburl.Forms)
	flags.StringVar(&f.table, "table", "", "the table of the calls; a schema may stand before a dot (default outbox, or the demo's where only that is there)")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
}

// A tray is an outbox in an open database.
type tray struct {
	db     *sql.DB
	target dburl.Target
	table  string
	box    *outbox.Outbox
	log    audit.Log
}

// open checks the command line and opens the database; the caller closes it.
func (f *outboxFlags) open(cmd *cobra.Command, e env) (*tray, error) {
	db, target, err := openDB(cmd, e, f.db)
	if err != nil {
		return nil, err
	}
	t := &tray{db: db, target: target}
	if err := t.choose(cmd.Context(), f.table); err != nil {
		db.Close()
		return nil, err
	}
	return t, nil
}

func (t *tray) choose(ctx context.Context, given string) (err error) {
	if t.box, err = outbox.New(t.db, t.target.Dialect, &outbox.Options{Table: given}); err != nil {
		return usagef("--table: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if t.table, err = keytable.Choose(ctx, t.db, t.target.Dialect, given, keytable.OutboxNames); err != nil {
		return t.failed(err)
	}
	t.log = audit.New(t.target.Dialect, t.table)
	t.box, err = outbox.New(t.db, t.target.Dialect, &outbox.Options{Table: t.table})
	return err
}

func (t *tray) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("database %s: %w", t.target, err)
}

// show finds a call, or says that it is not there.
func (t *tray) show(ctx context.Context, id int64) (*outbox.Job, error) {
	j, err := t.box.Show(ctx, id)
	if err == nil && j == nil {
		return nil, fmt.Errorf("there is no call %d in %s; it may have been purged, or --table names another", id, t.target)
	}
	return j, t.failed(err)
}

// callID reads the one argument.
func callID(cmd *cobra.Command, args []string) (int64, error) {
	if len(args) != 1 {
		return 0, usagef("%s takes the id of one call, as nebis outbox list shows it", cmd.CommandPath())
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || id <= 0 {
		return 0, usagef("%q is not the id of a call", args[0])
	}
	return id, nil
}

// An outboxAction is what a person does to a call.
type outboxAction struct {
	name, short, long string
	after             outbox.State
	do                func(*outbox.Outbox) func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error)
}

var outboxActions = []outboxAction{
	{"retry", "Has a dead or failed call made again", `Has a dead or failed call made again now, with all its tries before it and the same
key for the other side.`, outbox.Pending,
		func(o *outbox.Outbox) func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error) {
			return o.Retry
		}},
	{"park", "Has a call wait for a person", `Has a call that is pending, failed or compensating wait for a person: it is dead until
somebody retries or compensates it.`, outbox.Dead,
		func(o *outbox.Outbox) func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error) {
			return o.Park
		}},
	{"compensate", "Has a call compensated", `Has a call that is dead, failed or pending compensated. The function is the program's
own: one of its workers runs it, as soon as it looks.`, outbox.Compensating,
		func(o *outbox.Outbox) func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error) {
			return o.Compensate
		}},
}

func (a outboxAction) command(e env) *cobra.Command {
	var f outboxFlags
	var reason string
	cmd := &cobra.Command{
		Use:   a.name + " ID --reason TEXT",
		Short: a.short,
		Long: a.long + `

A call that a worker has at this moment is left alone. In the same transaction a line
goes into the table beside the outbox whose name ends in _audit: when, who, and why.

Exit code: 0 done, 1 not done (no such call, not in the state for that), 2 wrong usage.`,
		Example: `  nebis outbox ` + a.name + ` --db mysql://ann:secret@localhost/shop 17 --reason "the bank says so"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := callID(cmd, args)
			if err != nil {
				return err
			}
			if reason = strings.TrimSpace(reason); reason == "" {
				return errNoReason
			}
			t, err := f.open(cmd, e)
			if err != nil {
				return err
			}
			defer t.db.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			before, err := a.run(ctx, e, t, id, reason)
			if err != nil {
				return err
			}
			return a.print(e, f.json, before)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept")
	return cmd
}

// run does it, and records it in the same transaction.
func (a outboxAction) run(ctx context.Context, e env, t *tray, id int64, reason string) (*outbox.Job, error) {
	// Nothing is made in a database that has no such call.
	if _, err := t.show(ctx, id); err != nil {
		return nil, err
	}
	if err := t.log.Prepare(ctx, t.db); err != nil {
		return nil, t.failed(err)
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, t.failed(err)
	}
	defer tx.Rollback()
	before, err := a.do(t.box)(ctx, tx, id, reason)
	if err != nil {
		return nil, a.refused(t, id, before, err)
	}
	err = t.log.Add(ctx, tx, audit.Record{
		By: who(e), Action: a.name, Scope: before.Name, Owner: "*", Key: strconv.FormatInt(id, 10),
		Before: string(before.State), After: string(a.after), Reason: reason,
	})
	if err != nil {
		return nil, t.failed(err)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("%w; nebis outbox show tells whether it was done", t.failed(err))
	}
	return before, nil
}

func (a outboxAction) refused(t *tray, id int64, before *outbox.Job, err error) error {
	switch {
	case errors.Is(err, nebis.ErrInProgress):
		return fmt.Errorf("call %d: a worker has it, its lease runs until %s; try again after that", id, moment(before.Due))
	case errors.Is(err, nebis.ErrState) && before != nil:
		return fmt.Errorf("call %d is %s: nebis outbox %s does nothing to it", id, before.State, a.name)
	}
	return fmt.Errorf("call %d: %w", id, t.failed(err))
}

func (a outboxAction) print(e env, asJSON bool, before *outbox.Job) error {
	if asJSON {
		return printJSON(e.stdout, map[string]any{"id": before.ID, "before": before.State, "after": a.after})
	}
	fmt.Fprintf(e.stdout, "call %d (%s): %s → %s\n", before.ID, before.Name, before.State, a.after)
	return nil
}

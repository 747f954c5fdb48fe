package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/audit"
)

// resolveFlags is the command line of resolve.
type resolveFlags struct {
	keyFlags
	answerFlags
	done, free bool
	reason     string
	keepSeen   time.Duration
	json       bool
}

func newResolve(e env) *cobra.Command {
	f := &resolveFlags{}
	cmd := &cobra.Command{
		Use:   "resolve --scope SCOPE [--owner OWNER] KEY (--done | --free) --reason TEXT",
		Short: "Says what became of a key whose outcome is unknown",
		Long: `Says what became of a key whose outcome nobody knows, after you have found out on the
other side: it was done, and duplicates get the answer given here; or it was not, and
the next request with the key runs. Who was only slow, and saves afterwards, has lost.

In the same transaction a line goes into the table beside the key table whose name
ends in _audit: when, who, what, and why.

Exit code: 0 done, 1 not done (no such key, not unknown, in progress), 2 wrong usage.`,
		Example: `  nebis resolve --db mysql://ann:secret@localhost/shop --scope order --owner user-7 0f8c2a --done --location /orders/7 --reason "the bank has the payment"
  nebis resolve --db sqlite:shop.db --scope order 0f8c2a --free --reason "the bank knows nothing of it"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.resolution()
			if err != nil {
				return err
			}
			return decide(cmd, e, &f.keyFlags, args[0], decision{
				json: f.json, action: "resolve", reason: r.Reason, before: nebis.StateUnknown, after: becomes[r.Verdict],
				do: func(ctx context.Context, tx *sql.Tx, s *subject) (*nebis.Entry, error) {
					return s.store.Resolve(ctx, tx, s.scope, s.owner, s.key, r)
				},
			})
		},
	}
	f.keyFlags.flags(cmd)
	f.answerFlags.flags(cmd)
	cmd.Flags().BoolVar(&f.done, "done", false, "it happened; without an answer, duplicates are told that none is kept")
	cmd.Flags().BoolVar(&f.free, "free", false, "it did not happen, and never will: the next request with the key runs")
	cmd.Flags().StringVar(&f.reason, "reason", "", "how you know; it is kept")
	cmd.Flags().DurationVar(&f.keepSeen, "keep-seen", 0, "with --done: for how long the key is remembered once its answer is gone (KeepSeen in the program), such as 2160h")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

var becomes = map[nebis.Verdict]nebis.State{nebis.Happened: nebis.StateDone, nebis.DidNotHappen: nebis.StateFree}

// resolution checks the command line.
func (f *resolveFlags) resolution() (nebis.Resolution, error) {
	r := nebis.Resolution{Verdict: nebis.DidNotHappen, KeepSeen: f.keepSeen, Reason: strings.TrimSpace(f.reason)}
	switch {
	case f.done == f.free:
		return r, usagef("say what became of it: either --done or --free")
	case f.free && f.given():
		return r, usagef("--free has no answer: --status, --location, --body and --result go with --done")
	case f.keepSeen < 0 || f.free && f.keepSeen > 0:
		return r, usagef("--keep-seen is for how long a key is remembered that is --done")
	case r.Reason == "":
		return r, errNoReason
	case f.free:
		return r, nil
	}
	var err error
	r.Verdict = nebis.Happened
	r.Response, err = f.response()
	return r, err
}

var errNoReason = usagef("--reason says how you know, for those who ask later")

func newRelease(e env) *cobra.Command {
	var f keyFlags
	var reason string
	var json bool
	cmd := &cobra.Command{
		Use:   "release --scope SCOPE [--owner OWNER] KEY --reason TEXT",
		Short: "Frees a key that is done, so that it runs again",
		Long: `Frees a key that is done, on purpose: its answer is forgotten, and the next request
with it runs. What the first run did is not undone: look first that it may happen
twice, or that the first is cancelled.

In the same transaction a line goes into the table beside the key table whose name
ends in _audit: when, who, and why.

Exit code: 0 done, 1 not done (no such key, not done, in progress), 2 wrong usage.`,
		Example: `  nebis release --db mysql://ann:secret@localhost/shop --scope order --owner user-7 0f8c2a --reason "order 7 was cancelled by mistake"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason = strings.TrimSpace(reason); reason == "" {
				return errNoReason
			}
			return decide(cmd, e, &f, args[0], decision{
				json: json, action: "release", reason: reason, before: nebis.StateDone, after: nebis.StateFree,
				do: func(ctx context.Context, tx *sql.Tx, s *subject) (*nebis.Entry, error) {
					return s.store.Release(ctx, tx, s.scope, s.owner, s.key, reason)
				},
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept")
	cmd.Flags().BoolVar(&json, "json", false, "print JSON instead of text")
	return cmd
}

// A decision is what a person does to a key.
type decision struct {
	json           bool // how it is told
	action, reason string
	before, after  nebis.State // what it acts on, and what becomes of it
	do             func(context.Context, *sql.Tx, *subject) (*nebis.Entry, error)
}

// decide does it, and records it in the same transaction.
func decide(cmd *cobra.Command, e env, f *keyFlags, key string, d decision) error {
	s, err := f.open(cmd, e, key)
	if err != nil {
		return err
	}
	defer s.db.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), within)
	defer cancel()
	// Nothing is made in a database that has no such key.
	switch entry, err := s.look(ctx); {
	case err != nil:
		return err
	case entry == nil:
		return s.missing(ctx)
	}
	if err := s.log.Prepare(ctx, s.db); err != nil {
		return s.failed(err)
	}
	before, err := d.run(ctx, e, s)
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(e.stdout, decided{s.table, s.scope, s.column(), s.key, d.action, before.State, d.after})
	}
	fmt.Fprintf(e.stdout, "%s: %s → %s\n", s, before.State, d.after)
	return nil
}

// decided is the JSON of resolve and release.
type decided struct {
	Table  string      `json:"table"`
	Scope  string      `json:"scope"`
	Owner  string      `json:"owner"`
	Key    string      `json:"key"`
	Action string      `json:"action"`
	Before nebis.State `json:"before"`
	After  nebis.State `json:"after"`
}

func (d decision) run(ctx context.Context, e env, s *subject) (*nebis.Entry, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.failed(err)
	}
	defer tx.Rollback()
	before, err := d.do(ctx, tx, s)
	if err != nil {
		return nil, d.refused(ctx, s, before, err)
	}
	err = s.log.Add(ctx, tx, audit.Record{
		By: who(e), Action: d.action, Scope: s.scope, Owner: s.column(), Key: s.key,
		Before: string(before.State), After: string(d.after), Reason: d.reason,
	})
	if err != nil {
		return nil, s.failed(err)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("%w; nebis show tells whether it was done", s.failed(err))
	}
	return before, nil
}

// refused says why a key was left as it is, and what to do.
func (d decision) refused(ctx context.Context, s *subject, before *nebis.Entry, err error) error {
	switch {
	case before == nil && errors.Is(err, nebis.ErrState):
		return s.missing(ctx)
	case errors.Is(err, nebis.ErrInProgress) && before != nil && before.State == nebis.StateInProgress:
		return fmt.Errorf("%s is in progress%s; wait for its end, then look with nebis show", s, leaseEnd(before))
	case errors.Is(err, nebis.ErrInProgress):
		return fmt.Errorf("%s: a transaction holds its row at this moment; try again", s)
	case errors.Is(err, nebis.ErrBusy):
		return fmt.Errorf("%s: another program writes to the database at this moment; try again: %w", s, err)
	case errors.Is(err, nebis.ErrState) && before.State != d.before:
		return fmt.Errorf("%s is %s: %s", s, before.State, advice[before.State])
	}
	return fmt.Errorf("%s: %w", s, s.failed(err))
}

var advice = map[nebis.State]string{
	nebis.StateDone:    "only what is unknown can be resolved; nebis release frees what is done",
	nebis.StateFree:    "there is nothing to do, the next request runs",
	nebis.StateExpired: "there is nothing to do, the next request runs",
	nebis.StateUnknown: "only what is done can be released; nebis resolve says what became of it",
}

func leaseEnd(before *nebis.Entry) string {
	if before.LeaseUntil.IsZero() {
		return ""
	}
	return ", its lease runs until " + moment(before.LeaseUntil)
}

// who is the person at the keyboard, under sudo as well.
func who(e env) string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if sudo := e.getenv("SUDO_USER"); sudo != "" && sudo != name {
		return sudo + " as " + name
	}
	return name
}

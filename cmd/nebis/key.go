package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/audit"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// keyFlags name one key on the command line of show, resolve and release.
type keyFlags struct {
	placeFlags
	scope, owner string
}

// within bounds what a command does to one key: a person waits for it.
const within = time.Minute

func (f *keyFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.placeFlags.flags(cmd)
	flags.StringVar(&f.scope, "scope", "", "the key's scope, such as order")
	flags.StringVar(&f.owner, "owner", "", "the key's owner, as the program gives it; without it, or *, nobody in particular")
	cmd.Args = oneKey
}

func oneKey(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("%s needs the key, as its column idem_key shows it", cmd.CommandPath())
	case len(args) > 1:
		return usagef("%s takes one key: %q is too much", cmd.CommandPath(), args[1])
	}
	return nil
}

// A subject is the key that a command is about, in an open database.
type subject struct {
	*place
	log               audit.Log
	scope, owner, key string
}

// open checks the command line and opens the database; the caller closes it.
func (f *keyFlags) open(cmd *cobra.Command, e env, key string) (*subject, error) {
	owner := f.owner
	if !cmd.Flags().Changed("owner") || owner == "*" {
		owner = nebis.Anyone
	}
	if f.scope == "" {
		return nil, usagef("--scope names the business that the key is of, such as order")
	}
	p, err := f.placeFlags.open(cmd, e, nebis.Options{})
	if err != nil {
		return nil, err
	}
	return &subject{p, audit.New(p.target.Dialect, p.table), f.scope, owner, key}, nil
}

// look finds the key; nil: it is not there.
func (s *subject) look(ctx context.Context) (*nebis.Entry, error) {
	entry, err := s.store.Look(ctx, s.scope, s.owner, s.key)
	return entry, s.failed(err)
}

// failed tells mistakes of the command line from what the database says.
func (s *subject) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nebis.ErrKey):
		return usagef("%s", strings.TrimPrefix(err.Error(), "nebis: "))
	}
	return fmt.Errorf("database %s: %w", s.target, err)
}

// column is the owner as the table has it, but for those that it has as a hash.
func (s *subject) column() string {
	if s.owner == nebis.Anyone {
		return "*"
	}
	return s.owner
}

// String names the key for people.
func (s *subject) String() string {
	if s.owner == nebis.Anyone {
		return fmt.Sprintf("key %q in scope %q of nobody in particular", s.key, s.scope)
	}
	return fmt.Sprintf("key %q in scope %q of owner %q", s.key, s.scope, s.owner)
}

// missing is the error that there is no such key. It names whose the key is, where
// it is somebody else's: a slip in scope or owner is the usual reason.
func (s *subject) missing(ctx context.Context) error {
	if others := s.holders(ctx); others != "" {
		return fmt.Errorf("there is no %s in %s.\nBut the key is there %s", s, s.target, others)
	}
	return fmt.Errorf(`there is no %s in %s.
It was never used, or is purged, or its first run has not committed yet. Scope, owner
and key are compared letter by letter; --table names another table`, s, s.target)
}

// holdersShown is how many of them a message names.
const holdersShown = 5

func (s *subject) holders(ctx context.Context) string {
	t, err := keytable.Look(ctx, s.db, s.target.Dialect, s.table)
	if err != nil {
		return "" // the message without it is true as well
	}
	all, err := t.Holders(ctx, s.key, holdersShown+1)
	if err != nil {
		return ""
	}
	var names []string
	for _, h := range all[:min(len(all), holdersShown)] {
		names = append(names, fmt.Sprintf("with --scope %s --owner %s", report.ShellQuote(h.Scope), report.ShellQuote(h.Owner)))
	}
	if len(all) > holdersShown {
		names = append(names, "and more")
	}
	return strings.Join(names, ",\n")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of every command but those that look for something.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// env is what a command gets from its surroundings.
type env struct {
	getenv         func(string) string
	stdout, stderr io.Writer
}

// commands has one entry for each command; each has a file of its own.
var commands = []func(env) *cobra.Command{
	newCallback,
	newCheck,
	newClean,
	newDemo,
	newFind,
	newGateway,
	newList,
	newMigrate,
	newOutbox,
	newReconcile,
	newRelease,
	newResolve,
	newScan,
	newSchema,
	newShow,
	newStats,
	newVersion,
}

// run is the whole program: main only hands it the real world.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	root := newRoot(env{getenv, stdout, stderr})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	coded := new(codedError)
	if errors.As(err, &coded) && coded.err == nil {
		return coded.code
	}
	fmt.Fprintf(stderr, "nebis: %v\n", err)
	if usage := new(usageError); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "Run '%s --help' for how it is used.\n", cmd.CommandPath())
		return exitUsage
	}
	if coded.err != nil {
		return coded.code
	}
	return exitFailed
}

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:   "nebis",
		Short: "Makes repeated writes harmless: sent twice, done once",
		Long: `Nebis makes a repeated write harmless: the same operation, sent once or ten
times, takes effect once, and every sender gets the first answer.`,
		Example:       "  nebis demo\n  nebis demo --db postgres://ann:secret@localhost:5432/shop\n  nebis find --db mysql://ann:secret@localhost/shop --table orders\n  nebis scan /var/log/nginx/access.log*",
		Args:          noCommand,
		RunE:          func(*cobra.Command, []string) error { return usagef("no command given") },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	for _, add := range commands {
		root.AddCommand(add(e))
	}
	return root
}

// usageError is a mistake in how the program was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func noCommand(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("there is no command %q", args[0])
	}
	return nil
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, only flags: %q is too much", cmd.CommandPath(), args[0])
	}
	return nil
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// nowhere is a database for what never asks one.
var nowhere = new(sql.DB)

func newMigrate(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Makes the tables, or takes a hand-made one over: status, sql, up",
		Long: `Makes the tables where they are missing, and takes over a key table that was made by
hand, without losing a row or stopping the code that uses it.`,
		Example: "  nebis migrate status --db mysql://ann:secret@localhost/shop\n  nebis migrate sql --for all\n  nebis migrate up",
		Args:    noCommand,
		RunE:    func(*cobra.Command, []string) error { return usagef("say what to do: status, sql or up") },
	}
	cmd.AddCommand(
		newMigrateStep(e, "status", "Tells whether there is anything to do", `Tells whether there is anything to do, and what nebis check would find wrong with the
tables. It only reads.

Exit code: 0 nothing to do, 1 something to do, 2 it could not be read, or wrong usage.`, (*migration).status),
		newMigrateStep(e, "sql", "Prints the statements that up would run", `Prints the statements that up would run, each fit to be run by hand, in this order (on
PostgreSQL and SQLite: in one transaction). It only reads.

Exit code: 0 printed, 2 it could not be read, only a person can decide, or wrong usage.`, (*migration).sql),
		newMigrateStep(e, "up", "Runs them", `Runs the statements that nebis migrate sql prints. It does only what is missing, and
many may do it at once. After an error, running it again goes on from there.

Exit code: 0 done or nothing to do, 2 not done, or wrong usage.`, (*migration).up),
	)
	return cmd
}

// migrateFlags is the command line of migrate.
type migrateFlags struct {
	placeFlags
	parts string
	json  bool
}

func newMigrateStep(e env, name, short, long string, do func(*migration, context.Context, env) error) *cobra.Command {
	f := &migrateFlags{}
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long,
		Example: fmt.Sprintf("  nebis migrate %[1]s --db mysql://ann:secret@localhost/shop\n  NEBIS_DB=sqlite:shop.db nebis migrate %[1]s --for all --json", name),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := f.open(cmd, e)
			if err != nil {
				return unable(err)
			}
			defer m.db.Close()
			return unable(do(m, cmd.Context(), e))
		},
	}
	f.flags(cmd)
	partsFlag(cmd, &f.parts)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

// A migration is what is to be done to the tables of a database.
type migration struct {
	*place
	parts []part
	json  bool
}

func (f *migrateFlags) open(cmd *cobra.Command, e env) (*migration, error) {
	p, err := f.placeFlags.open(cmd, e, nebis.Options{})
	if err != nil {
		return nil, err
	}
	table := p.table
	if f.parts == "outbox" {
		table = f.table // which is the outbox's own
	}
	parts, err := partsOf(p.target.Dialect, table, f.parts)
	if err != nil {
		p.db.Close()
		return nil, err
	}
	return &migration{p, parts, f.json}, nil
}

// step is what is to be done, or was, to one table.
type step struct {
	For        string   `json:"for"`
	Table      string   `json:"table"`
	UpToDate   bool     `json:"up_to_date"`
	Statements []string `json:"statements"`
	Findings   []flaw   `json:"findings,omitempty"`
}

// flaw is the JSON of one of nebis.Check's findings.
type flaw struct {
	Level nebis.Level `json:"level"`
	Code  string      `json:"code"`
	What  string      `json:"what"`
	Do    string      `json:"do"`
}

func (m *migration) steps(ctx context.Context, dry bool) ([]step, error) {
	all := []step{}
	for _, p := range m.parts {
		statements, err := m.step(ctx, p, dry)
		if err != nil {
			return nil, m.failed(err)
		}
		all = append(all, step{For: p.name, Table: p.table, UpToDate: len(statements) == 0, Statements: append([]string{}, statements...)})
	}
	return all, nil
}

func (m *migration) step(ctx context.Context, p part, dry bool) ([]string, error) {
	if p.name == "core" {
		return m.store.Migrate(ctx, dry)
	}
	there, err := keytable.There(ctx, m.db, m.target.Dialect, p.table)
	if err != nil || there {
		return nil, err
	}
	if !dry {
		err = p.migrate(ctx, m)
	}
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(p.schema), ";"), ";\n\n"), err
}

func (m *migration) status(ctx context.Context, e env) error {
	all, err := m.steps(ctx, true)
	if err != nil {
		return err
	}
	todo := false
	for i := range all {
		todo = todo || !all[i].UpToDate
		if all[i].For != "core" {
			continue
		}
		found, err := m.store.Check(ctx)
		if err != nil {
			return m.failed(err)
		}
		for _, f := range found {
			all[i].Findings = append(all[i].Findings, flaw(f))
		}
	}
	if err := m.printStatus(e.stdout, all); err != nil || !todo {
		return err
	}
	return &codedError{code: exitFound}
}

func (m *migration) printStatus(w io.Writer, all []step) error {
	if m.json {
		return printJSON(w, all)
	}
	for _, s := range all {
		what := "nothing to do"
		if !s.UpToDate {
			what = fmt.Sprintf("%d statements to run: nebis migrate sql shows them, nebis migrate up runs them", len(s.Statements))
		}
		fmt.Fprintf(w, "table %s in %s (%s): %s\n", s.Table, m.target, partMeans[s.For], what)
		for _, f := range s.Findings {
			fmt.Fprintf(w, "  %s\n", nebis.Finding(f))
		}
	}
	return nil
}

func (m *migration) sql(ctx context.Context, e env) error {
	all, err := m.steps(ctx, true)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(e.stdout, all)
	}
	for _, s := range all {
		if s.UpToDate {
			fmt.Fprintf(e.stdout, "-- table %s in %s: nothing to do\n", s.Table, m.target)
			continue
		}
		fmt.Fprintf(e.stdout, "-- table %s in %s\n%s;\n", s.Table, m.target, strings.Join(s.Statements, ";\n\n"))
	}
	return nil
}

func (m *migration) up(ctx context.Context, e env) error {
	all, err := m.steps(ctx, false)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(e.stdout, all)
	}
	for _, s := range all {
		what := "nothing to do"
		if !s.UpToDate {
			what = fmt.Sprintf("done, %d statements", len(s.Statements))
		}
		fmt.Fprintf(e.stdout, "table %s in %s (%s): %s\n", s.Table, m.target, partMeans[s.For], what)
	}
	return nil
}

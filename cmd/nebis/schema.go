package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
)

// schemaFlags is the command line of schema.
type schemaFlags struct {
	dialect, table, parts string
	json                  bool
}

func newSchema(e env) *cobra.Command {
	f := &schemaFlags{}
	cmd := &cobra.Command{
		Use:   "schema --dialect DIALECT",
		Short: "Prints the statements that make the tables",
		Long: `Prints the statements that make the tables where they are missing, for people who
keep their own migrations. It needs no database. A table that is there already, made by
hand, is taken over by nebis migrate.

Exit code: 0 printed, 2 wrong usage.`,
		Example: `  nebis schema --dialect mysql
  nebis schema --dialect postgres --table shop.idempotency --for all
  nebis schema --dialect sqlite --for outbox --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(e) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dialect, "dialect", "", "mysql (for MariaDB as well), postgres or sqlite")
	flags.StringVar(&f.table, "table", "", "the key table's name, or the outbox's with --for outbox (default idempotency, or outbox)")
	partsFlag(cmd, &f.parts)
	flags.BoolVar(&f.json, "json", false, "print JSON instead of SQL")
	return cmd
}

var dialects = map[string]nebis.Dialect{
	"mysql": nebis.MySQL, "mariadb": nebis.MySQL,
	"postgres": nebis.Postgres, "postgresql": nebis.Postgres,
	"sqlite": nebis.SQLite,
}

// schemaText is the JSON of one part's schema.
type schemaText struct {
	For   string `json:"for"`
	Table string `json:"table"`
	SQL   string `json:"sql"`
}

func (f *schemaFlags) run(e env) error {
	d, ok := dialects[strings.ToLower(f.dialect)]
	switch {
	case f.dialect == "":
		return usagef("--dialect says for which database: mysql, postgres or sqlite")
	case !ok:
		return usagef("--dialect %q: want mysql, postgres or sqlite", f.dialect)
	}
	all, err := partsOf(d, f.table, f.parts)
	if err != nil {
		return err
	}
	list := []schemaText{}
	for _, p := range all {
		list = append(list, schemaText{p.name, p.table, p.schema})
	}
	if f.json {
		return printJSON(e.stdout, list)
	}
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		fmt.Fprintf(e.stdout, "-- %s\n%s", partMeans[s.For], s.SQL)
	}
	return nil
}

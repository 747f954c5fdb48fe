package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/hourly"
	"github.com/nebis-dev/nebis/outbox"
)

// A part of Nebis has a table of its own.
type part struct {
	name, table string
	schema      string // statements, each ends with a semicolon
	keys        string // the key table that it is beside
}

// migrate makes the part's table, as the part itself does: many may at once.
func (p part) migrate(ctx context.Context, m *migration) error {
	switch p.name {
	case "outbox":
		box, err := outbox.New(m.db, m.target.Dialect, &outbox.Options{Table: p.table})
		if err != nil {
			return err
		}
		return box.Migrate(ctx)
	case "callback":
		return callback.Migrate(ctx, m.db, m.store)
	}
	counts, err := hourly.New(m.db, m.target.Dialect, &hourly.Options{Table: p.keys})
	if err != nil {
		return err
	}
	return counts.Migrate(ctx)
}

var partNames = []string{"core", "outbox", "callback", "hourly"}

var partMeans = map[string]string{
	"core":     "the keys",
	"outbox":   "calls to the outside after the commit",
	"callback": "callbacks that have failed",
	"hourly":   "hourly counts, for nebis check",
}

func partsFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "for", "core", "`PART`: core, outbox, callback, hourly or all")
}

// partsOf returns what is wanted, with its tables beside the key table.
func partsOf(d nebis.Dialect, table, wanted string) ([]part, error) {
	if wanted != "all" && !slices.Contains(partNames, wanted) {
		return nil, usagef("--for %q: want %s or all", wanted, strings.Join(partNames, ", "))
	}
	var all []part
	for _, name := range partNames {
		if wanted != name && wanted != "all" {
			continue
		}
		p, err := partOf(d, table, name, wanted == "all")
		if err != nil {
			return nil, usagef("--table: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// partOf is one part; among others the outbox has its own name.
func partOf(d nebis.Dialect, table, name string, among bool) (p part, err error) {
	p.name, p.table = name, cmp.Or(table, keytable.Names[0])
	p.keys = p.table
	switch name {
	case "core":
		p.schema, err = d.Schema(p.table)
	case "outbox":
		p.table = "outbox"
		if !among && table != "" {
			p.table = table
		}
		p.schema, err = outbox.Schema(d, p.table)
	case "callback":
		p.schema, err = callbackSchema(d, p.table)
		p.table += "_failures"
	case "hourly":
		p.schema, err = hourly.Schema(d, p.table)
		p.table += "_hourly"
	}
	return p, err
}

func callbackSchema(d nebis.Dialect, table string) (string, error) {
	store, err := nebis.New(nowhere, d, &nebis.Options{Table: table})
	if err != nil {
		return "", err
	}
	return callback.Schema(store) + ";\n", nil
}

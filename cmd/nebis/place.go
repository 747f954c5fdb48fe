package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// placeFlags name a database, and the key table in it.
type placeFlags struct{ db, table string }

func (f *placeFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.db, "db", "", "database, also from NEBIS_DB:\n"+dburl.Forms)
	f.tableFlag(cmd)
}

func (f *placeFlags) tableFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.table, "table", "", "the key table; a schema may stand before a dot (default idempotency, or the demo's where only that is there)")
}

// A place is a key table in an open database.
type place struct {
	db     *sql.DB
	target dburl.Target
	table  string
	store  *nebis.Store
}

// String names the table for people: where none was given, it was chosen.
func (p *place) String() string { return fmt.Sprintf("table %s in %s", p.table, p.target) }

func (p *place) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("database %s: %w", p.target, err)
}

// targetOf is the database of the flag or the environment.
func targetOf(cmd *cobra.Command, e env, flag string) (dburl.Target, error) {
	url := flag
	if !cmd.Flags().Changed("db") {
		url = e.getenv("NEBIS_DB")
	}
	if url == "" {
		return dburl.Target{}, usagef("--db or NEBIS_DB names the database: %s", dburl.Forms)
	}
	target, err := dburl.Parse(url)
	if err != nil {
		return target, usagef("--db: %w", err)
	}
	return target.Existing(), nil
}

// openDB opens the database of the flag or the environment; nothing is made in it.
func openDB(cmd *cobra.Command, e env, flag string) (*sql.DB, dburl.Target, error) {
	target, err := targetOf(cmd, e, flag)
	if err != nil {
		return nil, target, err
	}
	db, err := target.Open()
	return db, target, err
}

// open opens the database and chooses the table; the caller closes it.
func (f *placeFlags) open(cmd *cobra.Command, e env, o nebis.Options) (*place, error) {
	db, target, err := openDB(cmd, e, f.db)
	if err != nil {
		return nil, err
	}
	return f.in(cmd.Context(), db, target, o)
}

// openReadOnly is open for what must not write, whatever it is asked to do.
func (f *placeFlags) openReadOnly(cmd *cobra.Command, e env) (*place, error) {
	target, err := targetOf(cmd, e, f.db)
	if err != nil {
		return nil, err
	}
	db, err := find.Open(target)
	if err != nil {
		return nil, err
	}
	return f.in(cmd.Context(), db, target, nebis.Options{})
}

func (f *placeFlags) in(ctx context.Context, db *sql.DB, target dburl.Target, o nebis.Options) (*place, error) {
	p := &place{db: db, target: target}
	if err := p.choose(ctx, f.table, o); err != nil {
		db.Close()
		return nil, err
	}
	return p, nil
}

func (p *place) choose(ctx context.Context, given string, o nebis.Options) (err error) {
	if o.Table = given; given == "" {
		o.Table = keytable.Names[0]
	}
	if p.store, err = nebis.New(p.db, p.target.Dialect, &o); err != nil {
		return usagef("--table: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if p.table, err = keytable.Choose(ctx, p.db, p.target.Dialect, given, keytable.Names); err != nil {
		return p.failed(err)
	}
	o.Table = p.table
	p.store, err = nebis.New(p.db, p.target.Dialect, &o)
	return err
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// counters are a server's own, since it was started.
type counters struct{ statements, commits, rollbacks, rows int64 }

func (c counters) since(before counters) counters {
	return counters{
		c.statements - before.statements, c.commits - before.commits,
		c.rollbacks - before.rollbacks, c.rows - before.rows,
	}
}

// text tells what the product counts: PostgreSQL no statements, the others no
// rows.
func (c counters) text(k dbtest.Kind) string {
	if k == dbtest.Postgres {
		return fmt.Sprintf("%d commits, %d rollbacks, %d rows written", c.commits, c.rollbacks, c.rows)
	}
	return fmt.Sprintf("%d statements, %d commits, %d rollbacks", c.statements, c.commits, c.rollbacks)
}

// read returns the counters of every server.
func read(ctx context.Context, servers []*dbtest.Server) (map[dbtest.Kind]counters, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	all := map[dbtest.Kind]counters{}
	for _, s := range servers {
		c, err := readOne(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%v no longer answers: %w", s.Kind, err)
		}
		all[s.Kind] = c
	}
	return all, nil
}

func readOne(ctx context.Context, s *dbtest.Server) (counters, error) {
	if s.Kind == dbtest.Postgres {
		return readPostgres(ctx, s.DSN)
	}
	return readMySQL(ctx, s.DSN)
}

func readPostgres(ctx context.Context, dsn string) (c counters, err error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return c, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT sum(xact_commit)::bigint, sum(xact_rollback)::bigint,
		sum(tup_inserted + tup_updated + tup_deleted)::bigint FROM pg_stat_database`).
		Scan(&c.commits, &c.rollbacks, &c.rows)
	return c, err
}

func readMySQL(ctx context.Context, dsn string) (c counters, err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return c, err
	}
	defer db.Close()
	for name, n := range map[string]*int64{
		"Questions": &c.statements, "Com_commit": &c.commits, "Com_rollback": &c.rollbacks,
	} {
		row := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'")
		if err := row.Scan(new(string), n); err != nil {
			return c, err
		}
	}
	return c, nil
}

// exercised prints one line per database: what the server itself has counted
// since before, and what the tests wrote into the ledger when they opened it.
func exercised(ctx context.Context, w io.Writer, servers []*dbtest.Server, before map[dbtest.Kind]counters, ledger string) error {
	entries, err := dbtest.ReadLedger(ledger)
	if err != nil {
		return err
	}
	after, err := read(ctx, servers)
	if err != nil {
		return err
	}
	for _, s := range servers {
		count := after[s.Kind].since(before[s.Kind])
		fmt.Fprintf(w, "exercised: %v %s, %s; %s\n", s.Kind, s.Version, count.text(s.Kind), opened(entries, s.Kind))
	}
	for _, line := range files(entries) {
		fmt.Fprintln(w, line)
	}
	return nil
}

// opened counts the databases that tests opened, per configuration.
func opened(entries []dbtest.Entry, k dbtest.Kind) string {
	count := map[string]int{}
	for _, e := range entries {
		if e.Kind == k.String() {
			name, _, _ := strings.Cut(e.Config, "@")
			count[name]++
		}
	}
	if len(count) == 0 {
		return "no test opened it"
	}
	var parts []string
	for name, n := range count {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	return "opened by " + strings.Join(parts, ", ")
}

// files returns a line for each driver of SQLite that was used.
func files(entries []dbtest.Entry) []string {
	count := map[string]int{}
	for _, e := range entries {
		if e.Kind == dbtest.SQLite.String() {
			count[fmt.Sprintf("exercised: SQLite %s by %s", e.Version, module(e.Driver))]++
		}
	}
	var lines []string
	for name, n := range count {
		lines = append(lines, fmt.Sprintf("%s; opened %d times", name, n))
	}
	slices.Sort(lines)
	return lines
}

// module returns the module and version of a driver. Test programs carry no
// list of modules; this program is built from the same go.mod.
func module(driver string) string {
	path := map[string]string{"sqlite": "modernc.org/sqlite", "sqlite3": "github.com/mattn/go-sqlite3"}[driver]
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return path + " " + m.Version
			}
		}
	}
	return path
}

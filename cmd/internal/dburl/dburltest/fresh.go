// Package dburltest gives tests of commands the real databases of dbtest, named
// as a user names them.
package dburltest

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
)

// Everywhere runs a test on a fresh database of each kind.
func Everywhere(t *testing.T, test func(t *testing.T, dbURL string)) {
	for _, name := range []string{"sqlite-modernc", "mariadb", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t, dbtest.Lookup(name))) })
	}
}

// Open opens a database by its URL, for as long as the test runs.
func Open(t testing.TB, dbURL string) (*sql.DB, dburl.Target) {
	t.Helper()
	target, err := dburl.Parse(dbURL)
	if err != nil {
		t.Fatal(err)
	}
	db, err := target.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, target
}

// On is the URL of a fresh database of one configuration of dbtest's.
func On(t *testing.T, name string) string { return fresh(t, dbtest.Lookup(name)) }

// SQLite is the URL of a new file.
func SQLite(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
}

// fresh is the URL of a new, empty database; without its server the test is
// skipped.
func fresh(t *testing.T, c dbtest.Config) string {
	t.Helper()
	if c.Kind == dbtest.SQLite {
		return SQLite(t)
	}
	return URL(t, c, c.Fresh(t))
}

// URL is a DSN of a server's as a URL.
func URL(t testing.TB, c dbtest.Config, dsn string) string {
	t.Helper()
	if c.Kind == dbtest.Postgres {
		return dsn // the driver's own form is one already
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(cfg.User, cfg.Passwd), Host: cfg.Addr, Path: "/" + cfg.DBName}
	return u.String()
}

// Package dburltest gives tests of commands the real databases of dbtest, named
// as a user names them.
package dburltest

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Everywhere runs a test on a fresh database of each kind.
func Everywhere(t *testing.T, test func(t *testing.T, dbURL string)) {
	for _, name := range []string{"sqlite-modernc", "mariadb", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t, dbtest.Lookup(name))) })
	}
}

// SQLite is the URL of a new file.
func SQLite(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
}

// fresh is the URL of a new, empty database; without its server the test is
// skipped.
func fresh(t *testing.T, c dbtest.Config) string {
	t.Helper()
	switch c.Kind {
	case dbtest.SQLite:
		return SQLite(t)
	case dbtest.Postgres:
		return c.Fresh(t) // the driver's own form is a URL already
	}
	cfg, err := mysql.ParseDSN(c.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(cfg.User, cfg.Passwd), Host: cfg.Addr, Path: "/" + cfg.DBName}
	return u.String()
}

package dbtest_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestConfigsWriteAndRead(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dsn := c.Fresh(t)
			a, b := c.Pool(t, dsn), c.Pool(t, dsn)
			mustExec(t, a, "CREATE TABLE things (id INTEGER PRIMARY KEY, name VARCHAR(20))")
			mustExec(t, a, "INSERT INTO things (id, name) VALUES (1, 'tea')")
			if got := text(t, b, "SELECT name FROM things WHERE id = 1"); got != "tea" {
				t.Errorf("the second pool read %q", got)
			}
		})
	}
}

func TestConfigsHaveTheirOptions(t *testing.T) {
	want := map[string][2]string{
		"mariadb":             {"SELECT @@innodb_snapshot_isolation", "0"},
		"mariadb-snapshot":    {"SELECT @@innodb_snapshot_isolation", "1"},
		"mysql56":             {"SELECT @@innodb_lock_wait_timeout", "50"},
		"mysql56-lockwait":    {"SELECT @@innodb_lock_wait_timeout", "5"},
		"sqlite-modernc":      {"PRAGMA journal_mode", "wal"},
		"sqlite-mattn":        {"PRAGMA journal_mode", "wal"},
		"postgres-pgx-simple": {"SHOW max_connections", "500"},
	}
	for name, q := range want {
		t.Run(name, func(t *testing.T) {
			if got := text(t, dbtest.Lookup(name).Open(t), q[0]); got != q[1] {
				t.Errorf("%s = %q, want %q", q[0], got, q[1])
			}
		})
	}
}

func TestDefaultIsTheServersOwnLevel(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Dialect == nebis.SQLite {
				t.Skip("SQLite is serializable and has no other level")
			}
			want := strings.ToLower(c.Default().String())
			if got := isolation(t, c); got != want {
				t.Errorf("a transaction runs at %q, want %q", got, want)
			}
		})
	}
}

func TestAtSetsTheIsolationOfATransaction(t *testing.T) {
	for _, c := range dbtest.Configs() {
		for _, level := range c.Levels() {
			c := c.At(level)
			t.Run(c.Name, func(t *testing.T) {
				if c.Dialect == nebis.SQLite {
					t.Skip("SQLite is serializable and has no other level")
				}
				want := strings.ToLower(level.String())
				if got := isolation(t, c); got != want {
					t.Errorf("a transaction runs at %q, want %q", got, want)
				}
			})
		}
	}
}

func isolation(t *testing.T, c dbtest.Config) string {
	t.Helper()
	tx, err := c.Open(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	query := "SELECT @@tx_isolation"
	if c.Dialect == nebis.Postgres {
		query = "SHOW transaction_isolation"
	}
	var got string
	if err := tx.QueryRow(query).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(strings.ReplaceAll(got, "-", " "))
}

func TestFreshIsEmptyAndDroppedAtCleanup(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			var dsn string
			t.Run("leaves a transaction open", func(t *testing.T) {
				dsn = c.Fresh(t)
				db := c.Pool(t, dsn)
				mustExec(t, db, "CREATE TABLE things (id INTEGER PRIMARY KEY)")
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec("INSERT INTO things (id) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
			})
			if _, err := c.Pool(t, dsn).Exec("INSERT INTO things (id) VALUES (2)"); err == nil {
				t.Error("the database is still there")
			}
		})
	}
}

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func text(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var got string
	if err := db.QueryRow(query).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

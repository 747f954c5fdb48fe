package callbacktests

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Many processes may make the table at the same time.
func TestManyMigrate(t *testing.T) {
	for _, c := range databases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				db := c.Pool(t, c.Fresh(t))
				store := storeOn(t, c, db)
				errs := make(chan error)
				for range 16 {
					go func() { errs <- callback.Migrate(t.Context(), db, store) }()
				}
				for range 16 {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
				if _, err := callback.Failures(t.Context(), db, store, "", 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func storeOn(t *testing.T, c dbtest.Config, db *sql.DB) *nebis.Store {
	t.Helper()
	store, err := nebis.New(db, c.Dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// An account that may not make tables is what a site's program should have.
func TestMigrateByAnAccountThatMayNotMakeTables(t *testing.T) {
	for _, c := range databases() {
		if c.Kind == dbtest.SQLite {
			continue // has no accounts
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dsn := c.Fresh(t)
			owner := c.Pool(t, dsn)
			poor := poorOn(t, c, dsn, owner)
			if err := callback.Migrate(t.Context(), poor, storeOn(t, c, poor)); err == nil {
				t.Error("the account may make tables: the test shows nothing")
			}
			if err := callback.Migrate(t.Context(), owner, storeOn(t, c, owner)); err != nil {
				t.Fatal(err)
			}
			if c.Kind == dbtest.Postgres {
				execute(t, owner, "GRANT SELECT ON idempotency_failures TO PUBLIC")
			}
			if err := callback.Migrate(t.Context(), poor, storeOn(t, c, poor)); err != nil {
				t.Errorf("the table is there: %v", err)
			}
		})
	}
}

// poorOn is the database as an account sees it that may read and write rows.
func poorOn(t *testing.T, c dbtest.Config, dsn string, owner *sql.DB) *sql.DB {
	t.Helper()
	here, statements, end := "SELECT DATABASE()", []string{
		"CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT SELECT, INSERT, UPDATE, DELETE ON {here}.* TO '{user}'@'127.0.0.1'",
	}, []string{"DROP USER '{user}'@'127.0.0.1'"}
	if c.Kind == dbtest.Postgres {
		here, statements = "SELECT current_schema()", []string{"CREATE ROLE {user} LOGIN PASSWORD 'x'", "GRANT USAGE ON SCHEMA {here} TO {user}"}
		end = []string{"DROP OWNED BY {user}", "DROP ROLE {user}"}
	}
	var name string
	if err := owner.QueryRowContext(t.Context(), here).Scan(&name); err != nil {
		t.Fatal(err)
	}
	user := "u" + name[2:]
	fill := strings.NewReplacer("{user}", user, "{here}", name)
	for _, statement := range statements {
		execute(t, owner, fill.Replace(statement))
	}
	t.Cleanup(func() {
		admin := c.Pool(t, dsn)
		defer admin.Close()
		for _, statement := range end {
			if _, err := admin.ExecContext(context.Background(), fill.Replace(statement)); err != nil {
				t.Error(err)
			}
		}
	})
	return c.Pool(t, strings.Replace(dsn, "nebis:nebis@", user+":x@", 1))
}

func execute(t *testing.T, owner *sql.DB, statement string) {
	t.Helper()
	if _, err := owner.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A table of that name that is something else's is not taken for ours.
func TestMigrateDoesNotTakeAnyTable(t *testing.T) {
	for _, c := range databases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			db := c.Open(t)
			execute(t, db, "CREATE TABLE idempotency_failures (id CHAR(64), provider VARCHAR(64))")
			if err := callback.Migrate(t.Context(), db, storeOn(t, c, db)); err == nil || !strings.Contains(err.Error(), "something else") {
				t.Error(err)
			}
		})
	}
}

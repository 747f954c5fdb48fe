package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Open returns a pool on a new, empty database of the test's own, dropped at
// cleanup. Without the server the test is skipped, see Shared.
func (c Config) Open(t testing.TB) *sql.DB {
	t.Helper()
	return c.Pool(t, c.Fresh(t))
}

// Pool returns a pool on a database that Fresh returned, closed at cleanup.
func (c Config) Pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(c.Driver, dsn)
	if err != nil {
		t.Fatalf("dbtest: open %s: %v", c.Name, err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Fresh creates an empty database (on PostgreSQL a schema, which is the search
// path) that is dropped at cleanup, and returns its DSN: for several pools, or
// another process, on one database.
func (c Config) Fresh(t testing.TB) string {
	t.Helper()
	if c.Kind == SQLite {
		return c.freshFile(t)
	}
	base := c.base(t)
	name := "t_" + strings.ToLower(rand.Text()[:12])
	admin, err := sql.Open(c.Driver, base)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), "CREATE "+c.unit()+" "+name); err != nil {
		t.Fatalf("dbtest: %s: %v", c.Name, err)
	}
	t.Cleanup(func() {
		if err := c.drop(base, name); err != nil && c.server == nil {
			t.Errorf("dbtest: drop %s: %v", name, err)
		}
	})
	record(t, c, "")
	return c.dsn(base, name)
}

// base returns the base DSN of the server.
func (c Config) base(t testing.TB) string {
	t.Helper()
	if c.server != nil {
		return c.server.DSN
	}
	return Shared(t, c.Kind)
}

func (c Config) unit() string {
	if c.Kind == Postgres {
		return "SCHEMA"
	}
	return "DATABASE"
}

// freshFile returns the DSN of a new file in a folder of the test's own.
func (c Config) freshFile(t testing.TB) string {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + c.query()
	db, err := sql.Open(c.Driver, "file::memory:")
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(t.Context(), "SELECT sqlite_version()").Scan(&version); err != nil {
		missing(t, c.Name+": "+err.Error()) // mattn's driver without cgo
	}
	record(t, c, version)
	return dsn
}

// drop removes a database after cutting what is still connected to it: a
// transaction that a test left open must not hold up the others.
func (c Config) drop(base, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	admin, err := sql.Open(c.Driver, base)
	if err != nil {
		return err
	}
	defer admin.Close()
	if c.Kind == Postgres {
		_, err = admin.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"+name+"'")
		if err != nil {
			return err
		}
		_, err = admin.ExecContext(ctx, "DROP SCHEMA "+name+" CASCADE")
		return err
	}
	if err := cutMySQL(ctx, admin, name); err != nil {
		return err
	}
	_, err = admin.ExecContext(ctx, "DROP DATABASE "+name)
	return err
}

func cutMySQL(ctx context.Context, admin *sql.DB, name string) error {
	rows, err := admin.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = '"+name+"'")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		// It may have ended by itself meanwhile.
		admin.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
	}
	return rows.Err()
}

// Private launches a server of the test's own, to be killed, paused and
// started again; closed at cleanup. It follows the rule of Shared: without the
// shared server there is no private one.
func Private(t testing.TB, k Kind, opts *Options) *Server {
	t.Helper()
	Shared(t, k)
	s, err := Launch(t.Context(), k, opts)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(s.Close)
	recordPrivate(t, s)
	return s
}

// Package dbtest gives tests real databases: private servers of MariaDB,
// MySQL 5.6 and PostgreSQL in temporary folders on free ports of 127.0.0.1,
// SQLite files, and a TCP proxy that breaks the connection at a chosen moment.
//
// The command dbtest/with starts one server of each kind and runs a command
// beside them; tests find them through the environment. Without it, tests that
// need a server skip themselves and say so; under NEBIS_TEST_REQUIRE=1 a
// missing server fails the test instead.
//
//	go run ./cmd/internal/dbtest/with -- go test ./cmd/...
package dbtest

import (
	"os"
	"runtime"
	"testing"
)

// Kind is one database product.
type Kind int

// The products.
const (
	MariaDB  Kind = iota + 1
	MySQL         // the real MySQL 5.6 of the npm package
	Postgres      // PostgreSQL
	SQLite        // no server: a file of the test's own
)

// Servers lists the kinds that have a server on this machine's architecture.
func Servers() []Kind {
	if !mysqlRuns {
		return []Kind{MariaDB, Postgres}
	}
	return []Kind{MariaDB, MySQL, Postgres}
}

// mysqlRuns is false where the npm package's MySQL 5.6 cannot run.
const mysqlRuns = runtime.GOARCH == "amd64"

// String returns the product's name.
func (k Kind) String() string {
	return [...]string{"unknown", "MariaDB", "MySQL", "PostgreSQL", "SQLite"}[k]
}

// Env returns the environment variable that holds the base DSN of the shared
// server of kind k.
func (k Kind) Env() string {
	return [...]string{"", "NEBIS_TEST_MARIADB", "NEBIS_TEST_MYSQL", "NEBIS_TEST_POSTGRES", ""}[k]
}

// RequireEnv is the environment variable that, set to 1, turns "skipped,
// because there is no server" into a failure.
const RequireEnv = "NEBIS_TEST_REQUIRE"

// Shared returns the base DSN of the shared server of kind k. Without one the
// test is skipped, or fails where servers are required.
func Shared(t testing.TB, k Kind) string {
	t.Helper()
	if k == MySQL && !mysqlRuns {
		t.Skip("skipped: the MySQL 5.6 of the npm package is for amd64 only")
	}
	dsn := os.Getenv(k.Env())
	if dsn == "" {
		missing(t, k.String()+": "+k.Env()+" is not set; `make test` starts the servers")
	}
	return dsn
}

// missing skips a test, or fails it where nothing may be missing.
func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(RequireEnv) == "1" {
		t.Fatalf("required, but missing: %s", why)
	}
	t.Skipf("skipped: %s", why)
}

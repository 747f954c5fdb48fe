package worlds

import (
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A product is one kind of database with the ways to reach it. The stores of
// one world reach it in different ways.
type product struct {
	name     string
	dialect  nebis.Dialect
	variants []dbtest.Config // the first makes the database
	options  string          // of every connection
	now      string          // the database's clock as text that sorts
	expiry   string          // expires_at as such text

	microseconds bool // its clock counts them, so that keys may live for one
	ddlCommits   bool
	armed        bool // what is written after a lost transaction is rolled back
	errorsAbort  bool // a statement that fails aborts the transaction
}

func products() []product {
	mysqlText := func(p product) product {
		p.now, p.expiry = "CAST(UTC_TIMESTAMP(6) AS CHAR)", "CAST(expires_at AS CHAR)"
		p.dialect, p.microseconds, p.ddlCommits = nebis.MySQL, true, true
		return p
	}
	sqlite := func(name string) product {
		return product{
			name: name, dialect: nebis.SQLite, variants: configs(name),
			now: "strftime('%Y-%m-%d %H:%M:%f', 'now')", expiry: "expires_at",
		}
	}
	return []product{
		mysqlText(product{name: "mariadb", armed: true, variants: configs("mariadb", "mariadb-rows", "mariadb-interpolate", "mariadb-snapshot")}),
		mysqlText(product{name: "mysql56", variants: configs("mysql56", "mysql56-lockwait")}),
		{
			name: "postgres", dialect: nebis.Postgres, microseconds: true, errorsAbort: true,
			variants: configs("postgres-pgx", "postgres-pq", "postgres-pgx-cache_describe", "postgres-pgx-describe_exec", "postgres-pgx-exec", "postgres-pgx-simple"),
			options:  "deadlock_timeout=20ms", // business deadlocks are part of the worlds
			now:      "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
			expiry:   "to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
		},
		sqlite("sqlite-modernc"),
		sqlite("sqlite-mattn"), // not in one process with modernc on one file: their locks do not see each other
	}
}

func configs(names ...string) []dbtest.Config {
	var cs []dbtest.Config
	for _, n := range names {
		cs = append(cs, dbtest.Lookup(n))
	}
	return cs
}

// fresh returns, for each variant, the DSN of one and the same new database.
func (p product) fresh(t testing.TB) []string {
	dsn := p.variants[0].Fresh(t)
	dsns := make([]string, len(p.variants))
	for i, v := range p.variants {
		dsns[i] = extend(extend(dsn, p.options), v.Options)
	}
	dsns[0] = extend(dsn, p.options)
	return dsns
}

// extend appends options to the DSN of a variant that has none itself.
func extend(dsn, options string) string {
	switch {
	case options == "":
		return dsn
	case strings.Contains(dsn, "?"):
		return dsn + "&" + options
	}
	return dsn + "?" + options
}

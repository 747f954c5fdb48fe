package dbtest

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"

	_ "github.com/go-sql-driver/mysql" // driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // driver pgx
	_ "github.com/lib/pq"              // driver postgres
	_ "github.com/mattn/go-sqlite3"    // driver sqlite3
	_ "modernc.org/sqlite"             // driver sqlite
)

// Config is one way to reach a database: product, driver, options, isolation.
type Config struct {
	Name    string // fit for t.Run and for -run: no slash
	Kind    Kind
	Dialect nebis.Dialect
	Driver  string // for sql.Open
	Options string // appended to the DSN

	// Isolation of every transaction that asks for none; LevelDefault leaves
	// the database's own.
	Isolation sql.IsolationLevel

	server *Server // nil is the shared one
}

// Configs returns every configuration that Nebis is tested with, at the
// database's own isolation level.
func Configs() []Config {
	mysql := func(name string, k Kind, options string) Config {
		return Config{Name: name, Kind: k, Dialect: nebis.MySQL, Driver: "mysql", Options: options}
	}
	pg := func(name, driver, options string) Config {
		return Config{Name: name, Kind: Postgres, Dialect: nebis.Postgres, Driver: driver, Options: options}
	}
	lite := func(name, driver, options string) Config {
		return Config{Name: name, Kind: SQLite, Dialect: nebis.SQLite, Driver: driver, Options: options}
	}
	return []Config{
		mysql("mariadb", MariaDB, ""),
		mysql("mariadb-rows", MariaDB, "clientFoundRows=true&parseTime=true&loc=Asia%2FShanghai"),
		mysql("mariadb-interpolate", MariaDB, "interpolateParams=true"),
		mysql("mariadb-snapshot", MariaDB, "innodb_snapshot_isolation=ON"),
		mysql("mysql56", MySQL, ""),
		mysql("mysql56-lockwait", MySQL, "innodb_lock_wait_timeout=5"),
		pg("postgres-pgx", "pgx", ""),
		pg("postgres-pgx-cache_describe", "pgx", "default_query_exec_mode=cache_describe"),
		pg("postgres-pgx-describe_exec", "pgx", "default_query_exec_mode=describe_exec"),
		pg("postgres-pgx-exec", "pgx", "default_query_exec_mode=exec"),
		pg("postgres-pgx-simple", "pgx", "default_query_exec_mode=simple_protocol"),
		pg("postgres-pq", "postgres", ""),
		lite("sqlite-modernc", "sqlite", "_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"),
		lite("sqlite-mattn", "sqlite3", "_journal_mode=WAL&_busy_timeout=5000"),
	}
}

// Lookup returns the configuration of that name and panics when there is none.
func Lookup(name string) Config {
	for _, c := range Configs() {
		if c.Name == name {
			return c
		}
	}
	panic("dbtest: no configuration named " + name)
}

// Each returns one configuration for each kind of database and driver: the
// first of every product, and both drivers of SQLite.
func Each() []Config {
	return []Config{
		Lookup("mariadb"), Lookup("mysql56"), Lookup("postgres-pgx"), Lookup("postgres-pq"),
		Lookup("sqlite-modernc"), Lookup("sqlite-mattn"),
	}
}

// Levels returns the isolation levels that Nebis supports on the product,
// without READ UNCOMMITTED, which Check refuses.
func (c Config) Levels() []sql.IsolationLevel {
	if c.Kind == SQLite {
		return []sql.IsolationLevel{sql.LevelDefault}
	}
	return []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
}

// Default is the level that the product takes by itself.
func (c Config) Default() sql.IsolationLevel {
	switch c.Kind {
	case SQLite:
		return sql.LevelDefault
	case Postgres:
		return sql.LevelReadCommitted
	default:
		return sql.LevelRepeatableRead
	}
}

// At returns c with another isolation level, and a name that says so, such as
// mariadb@serializable.
func (c Config) At(level sql.IsolationLevel) Config {
	c.Isolation = level
	if level != sql.LevelDefault {
		c.Name += "@" + strings.ReplaceAll(strings.ToLower(level.String()), " ", "-")
	}
	return c
}

// With returns c with more driver options, such as "timeout=2s".
func (c Config) With(options string) Config {
	c.Options = strings.Trim(c.Options+"&"+options, "&")
	return c
}

// On returns c on a server of the test's own.
func (c Config) On(s *Server) Config {
	c.server = s
	return c
}

// query returns the options of the DSN, the isolation level among them.
func (c Config) query() string {
	level := c.Isolation.String()
	switch {
	case c.Isolation == sql.LevelDefault || c.Kind == SQLite:
		return c.Options
	case c.Kind == Postgres:
		return c.With("default_transaction_isolation=" + url.PathEscape(strings.ToLower(level))).Options
	default:
		// The name that MariaDB before 11.1 and MySQL before 8.0 know.
		value := strings.ReplaceAll(strings.ToUpper(level), " ", "-")
		return c.With("tx_isolation=" + url.QueryEscape("'"+value+"'")).Options
	}
}

// dsn puts the name of a database into a base DSN and appends the options.
func (c Config) dsn(base, database string) string {
	if c.Kind == Postgres {
		u, err := url.Parse(base)
		if err != nil {
			panic(fmt.Sprintf("dbtest: base DSN: %v", err))
		}
		u.RawQuery = strings.Trim(strings.Join([]string{u.RawQuery,
			"search_path=" + database, "application_name=" + database, c.query()}, "&"), "&")
		return u.String()
	}
	return strings.TrimSuffix(base+database+"?"+c.query(), "?")
}

// Addr returns host:port of the server, for a proxy before it.
func (c Config) Addr(t testing.TB) string {
	t.Helper()
	if c.server != nil {
		return c.server.Addr
	}
	base := Shared(t, c.Kind)
	_, addr, _ := strings.Cut(base, "@")
	addr = strings.TrimPrefix(addr, "tcp(")
	return addr[:strings.IndexAny(addr, ")/")]
}

// Through returns a DSN of this configuration's with the address of the server
// replaced by that of a proxy.
func (c Config) Through(dsn, addr string) string {
	if c.Kind == Postgres {
		u, err := url.Parse(dsn)
		if err != nil {
			panic(fmt.Sprintf("dbtest: DSN: %v", err))
		}
		u.Host = addr
		return u.String()
	}
	before, rest, _ := strings.Cut(dsn, "tcp(")
	_, after, _ := strings.Cut(rest, ")")
	return before + "tcp(" + addr + ")" + after
}

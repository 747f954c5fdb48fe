package dburl

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/nebis-dev/nebis"
)

func TestParseNamesTheDatabaseWithoutItsPassword(t *testing.T) {
	for _, c := range []struct {
		in, driver, display string
		dialect             nebis.Dialect
	}{
		{"sqlite:nebis-demo.db", "sqlite", "sqlite:nebis-demo.db", nebis.SQLite},
		{"sqlite:/var/lib/a b?.db", "sqlite", "sqlite:/var/lib/a b?.db", nebis.SQLite},
		{"mysql://ann:s3cret@db.example:3307/shop", "mysql", "mysql://ann@db.example:3307/shop", nebis.MySQL},
		{"mysql://ann:s3cret@db.example/shop?tls=true", "mysql", "mysql://ann@db.example/shop", nebis.MySQL},
		{"mariadb://ann@db.example/shop", "mysql", "mariadb://ann@db.example/shop", nebis.MySQL},
		{"postgres://ann:s3cret@db.example:5433/shop?sslmode=disable", "pgx", "postgres://ann@db.example:5433/shop", nebis.Postgres},
		{"postgresql:///shop?host=/run/pg&user=ann&password=s3cret", "pgx", "postgresql:///shop", nebis.Postgres},
	} {
		got, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got.Driver != c.driver || got.Dialect != c.dialect || got.String() != c.display {
			t.Errorf("Parse(%q) = %s, %v, %s", c.in, got.Driver, got.Dialect, got)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if out := fmt.Sprintf(verb, got); strings.Contains(out, "s3cret") {
				t.Errorf("%s of %q has the password: %s", verb, c.in, out)
			}
		}
	}
}

func TestParseRefusesWithoutQuotingThePassword(t *testing.T) {
	for _, c := range []struct{ in, says string }{
		{"", "not a database URL"},
		{"shop.db", "not a database URL"},
		{"oracle://ann:s3cret@db/shop", `unknown kind of database "oracle"`},
		{"sqlite:", "sqlite:FILE"},
		{"sqlite://shop.db", "sqlite:FILE"},
		{"sqlite::memory:", "give a file"},
		{"mysql://ann:s3cret@db", "name of the database is missing"},
		{"mysql://ann:s3cret@db/", "name of the database is missing"},
		{"mysql://ann:s3cret/x@db/shop", "%2F"},
		{"mysql://ann:s3cret#x@db/shop", "%"},
		{"mysql://ann:%s3cret@db/shop", "%XX"},
		{"mysql://ann:s3cret@db/shop?timeout=s3cret", "timeout"},
		{"postgres://ann:s3cret@db:port/shop", "not a database URL"},
		{"postgres://ann:s3cret@db/shop?sslmode=maybe", "sslmode"},
		{"postgres:///shop?password=s3cret&sslmode=maybe&user=ann&host=db&port=s3cret", "port"},
	} {
		_, err := Parse(c.in)
		switch {
		case err == nil:
			t.Errorf("Parse(%q) took it", c.in)
		case !strings.Contains(err.Error(), c.says):
			t.Errorf("Parse(%q): %v; should say %q", c.in, err, c.says)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("Parse(%q) quotes the password: %v", c.in, err)
		}
	}
}

func TestMySQLGetsTheSettingsOfNebis(t *testing.T) {
	target, err := Parse("mysql://a%40b:p%2F%3A%40%20w@db.example/shop")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := mysql.ParseDSN(target.DSN)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.User != "a@b" || cfg.Passwd != "p/:@ w" || cfg.DBName != "shop" || cfg.Addr != "db.example:3306" {
		t.Errorf("got user %q, password %q, database %q at %s", cfg.User, cfg.Passwd, cfg.DBName, cfg.Addr)
	}
	if !cfg.InterpolateParams || !cfg.ParseTime || cfg.Loc.String() != "UTC" || cfg.Params["innodb_lock_wait_timeout"] != "5" {
		t.Errorf("settings: %s", target.DSN)
	}
}

func TestMySQLParametersOfTheUserWin(t *testing.T) {
	target, err := Parse("mysql://ann@localhost/shop?innodb_lock_wait_timeout=9&parseTime=false&socket=/run/my.sock")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := mysql.ParseDSN(target.DSN)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Params["innodb_lock_wait_timeout"] != "9" || cfg.ParseTime || cfg.Net != "unix" || cfg.Addr != "/run/my.sock" {
		t.Errorf("got %s", target.DSN)
	}
}

func TestMariaDBBoundsTheClaimOnly(t *testing.T) {
	target, err := Parse("mariadb://ann@localhost/shop")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(target.DSN, "innodb_lock_wait_timeout") {
		t.Errorf("the session's time-out is set: %s", target.DSN)
	}
}

func TestPostgresURLGoesToPgxAsItIs(t *testing.T) {
	target, err := Parse("postgres://ann:p%2Fw@db.example:5433/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(target.DSN)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "db.example" || cfg.Port != 5433 || cfg.User != "ann" || cfg.Password != "p/w" || cfg.Database != "shop" {
		t.Errorf("got %s@%s:%d/%s", cfg.User, cfg.Host, cfg.Port, cfg.Database)
	}
}

func TestSQLiteOpensWithTheSettingsOfNebis(t *testing.T) {
	for _, name := range []string{"shop.db", "a b?c#d%41.db", "商店.db"} {
		file := filepath.Join(t.TempDir(), name)
		target, err := Parse("sqlite:" + file)
		if err != nil {
			t.Fatal(err)
		}
		db, err := target.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for pragma, want := range map[string]string{"journal_mode": "wal", "busy_timeout": "5000", "synchronous": "1", "foreign_keys": "1"} {
			var got string
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %q, want %q (%v)", name, pragma, got, want, err)
			}
		}
		var at string
		if err := db.QueryRow("SELECT file FROM pragma_database_list").Scan(&at); err != nil || at != file {
			t.Errorf("the file is %q, want %q (%v)", at, file, err)
		}
	}
}

func TestManyOpenOneNewSQLiteFileAtOnce(t *testing.T) {
	for range 20 {
		target, err := Parse("sqlite:" + filepath.Join(t.TempDir(), "shop.db"))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				db, err := target.Open()
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				if err := db.PingContext(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// A server whose connections are closed and opened again is slow, and one that opens
// any number takes them from others.
func TestAPoolKeepsItsConnectionsAndHasABound(t *testing.T) {
	target, err := Parse("sqlite:" + filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := target.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var open []*sql.Conn
	for range conns {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		c.Close()
	}
	if s := db.Stats(); s.Idle != conns || s.MaxOpenConnections != conns {
		t.Errorf("%+v", s)
	}
}

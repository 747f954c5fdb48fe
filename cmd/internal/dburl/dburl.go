// Package dburl reads the one way in which every command of Nebis names a
// database, and opens it with the settings that Nebis wants:
//
//	sqlite:FILE
//	mysql://user:password@host:port/name      (mariadb:// likewise)
//	postgres://user:password@host:port/name
//
// A password in the URL goes to the driver and nowhere else: no error and no
// printed form of a Target has it.
package dburl

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"github.com/nebis-dev/nebis"
)

// Forms is for help texts and error messages.
const Forms = "sqlite:FILE, mysql://user:password@host:port/name or postgres://user:password@host:port/name"

// Target is a database that can be opened.
type Target struct {
	Dialect nebis.Dialect
	Driver  string // name of the database/sql driver
	DSN     string // for the driver; has the password: never print it
	display string
}

// String names the database for people and logs, without its password.
func (t Target) String() string { return t.display }

// GoString keeps the password out of %#v as well.
func (t Target) GoString() string { return "dburl.Target(" + t.display + ")" }

// conns bounds a pool, so that two of them fit into a small server's limit. As many
// stay open: PostgreSQL takes longer to open a connection than to write an order.
const conns = 20

// Open prepares a pool; like sql.Open it does not connect yet.
func (t Target) Open() (*sql.DB, error) {
	db, err := sql.Open(t.Driver, t.DSN)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t, err)
	}
	if t.Dialect == nebis.SQLite {
		if err := db.Close(); err != nil {
			return nil, err
		}
		db = sql.OpenDB(patient{db.Driver(), t.DSN})
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Parse reads a database URL. It does not connect.
func Parse(s string) (Target, error) {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" {
		return Target{}, fmt.Errorf("not a database URL: it looks like %s", Forms)
	}
	switch scheme {
	case "sqlite":
		return parseSQLite(rest)
	case "mysql", "mariadb":
		return parseMySQL(scheme, s)
	case "postgres", "postgresql":
		return parsePostgres(s)
	}
	return Target{}, fmt.Errorf("unknown kind of database %q: it looks like %s", scheme, Forms)
}

// parsePostgres asks the driver now, so that a bad URL is a mistake of whoever
// wrote it and not a failure to connect later.
func parsePostgres(s string) (Target, error) {
	u, err := parseURL(s)
	if err != nil {
		return Target{}, err
	}
	if _, err := pgx.ParseConfig(s); err != nil {
		return Target{}, fmt.Errorf("the PostgreSQL driver does not take the URL %s with the parameters %q", display(u), names(u.Query()))
	}
	return Target{nebis.Postgres, "pgx", s, display(u)}, nil
}

// parseURL forgets what url.Parse has to say: its errors quote the password.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("not a database URL: it looks like %s; write special characters of the user name and password as %%XX (a slash is %%2F)", Forms)
	}
	if u.Fragment != "" || strings.HasSuffix(s, "#") {
		return nil, errors.New("a # in a database URL is written %23")
	}
	if len(u.Path) < 2 {
		return nil, fmt.Errorf("the name of the database is missing: it looks like %s", Forms)
	}
	return u, nil
}

// display drops the password and the parameters, for one of them may be a
// password again.
func display(u *url.URL) string {
	d := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		d.User = url.User(name)
	}
	return d.String()
}

// hostPort fills in the port of a host that has none.
func hostPort(u *url.URL, port string) string {
	if p := u.Port(); p != "" {
		port = p
	}
	host := u.Hostname()
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

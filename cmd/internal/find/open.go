package find

import (
	"database/sql"
	"fmt"
	"net/url"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
)

// Open is not Target.Open, whose settings are those of a writer: for SQLite
// they would change the file. Times come as text, in UTC where the database
// knows the zone. It has one connection.
func Open(t dburl.Target) (*sql.DB, error) {
	db, err := openDriver(t)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func openDriver(t dburl.Target) (*sql.DB, error) {
	switch t.Dialect {
	case nebis.MySQL:
		cfg, err := mysql.ParseDSN(t.DSN)
		if err != nil {
			return nil, err
		}
		cfg.ParseTime, cfg.MultiStatements = false, false
		if cfg.Params == nil {
			cfg.Params = map[string]string{}
		}
		cfg.Params["time_zone"] = "'+00:00'"
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	case nebis.Postgres:
		cfg, err := pgx.ParseConfig(t.DSN)
		if err != nil {
			return nil, err
		}
		cfg.RuntimeParams["timezone"], cfg.RuntimeParams["datestyle"] = "UTC", "ISO"
		return stdlib.OpenDB(*cfg), nil
	}
	return openSQLite(t)
}

// openSQLite opens a file that must exist, without any right to change it.
func openSQLite(t dburl.Target) (*sql.DB, error) {
	u, err := url.Parse(t.DSN)
	if err != nil {
		return nil, err
	}
	u.RawQuery = url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}.Encode()
	return sql.Open(t.Driver, u.String())
}

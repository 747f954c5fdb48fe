package adoption

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// handMade is the table of the article that Nebis started from, and its
// siblings as people write them on the other databases.
var handMade = map[nebis.Dialect][]string{
	nebis.MySQL: {`CREATE TABLE idempotency (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  idem_key CHAR(36) NOT NULL COMMENT '客户端生成的UUID',
  scope VARCHAR(32) NOT NULL COMMENT '业务域，如 order/comment/pay',
  status ENUM('processing','done','failed') NOT NULL DEFAULT 'processing',
  response MEDIUMTEXT NULL COMMENT '首次成功的响应体，重复请求直接回放',
  created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (id),
  UNIQUE KEY uk_key_scope (idem_key, scope),
  KEY idx_created (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`},
	nebis.Postgres: {`CREATE TABLE idempotency (
  id BIGSERIAL PRIMARY KEY,
  idem_key CHAR(36) NOT NULL,
  scope VARCHAR(32) NOT NULL,
  status VARCHAR(16) NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed')),
  response TEXT NULL,
  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)
)`, `CREATE INDEX idx_created ON idempotency (created_at)`},
	nebis.SQLite: {`CREATE TABLE idempotency (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  idem_key TEXT NOT NULL, -- a UUID, made by the client
  scope TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed')),
  response TEXT NULL,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)
)`, `CREATE INDEX idx_created ON idempotency (created_at)`},
}

// A site is a database with the old code in it, and a Store beside.
type site struct {
	testing.TB
	c     dbtest.Config
	db    *sql.DB
	store *nebis.Store
}

// open returns a site on a new database, with a table made by ddl, or none.
func open(t testing.TB, c dbtest.Config, ddl ...string) *site {
	t.Helper()
	s := &site{TB: t, c: c, db: c.Open(t)}
	s.db.SetMaxIdleConns(10)
	s.store = s.with(nil)
	s.exec(ddl...)
	return s
}

func (s *site) with(o *nebis.Options) *nebis.Store {
	s.Helper()
	store, err := nebis.New(s.db, s.c.Dialect, o)
	if err != nil {
		s.Fatal(err)
	}
	return store
}

func (s *site) exec(statements ...string) {
	s.Helper()
	for _, q := range statements {
		if _, err := s.db.Exec(q); err != nil {
			s.Fatalf("%s: %v", q, err)
		}
	}
}

func (s *site) migrate() []string {
	s.Helper()
	ran, err := s.store.Migrate(context.Background(), false)
	if err != nil {
		s.Fatal(err)
	}
	return ran
}

func (s *site) dryRun() []string {
	s.Helper()
	plan, err := s.store.Migrate(context.Background(), true)
	if err != nil {
		s.Fatal(err)
	}
	return plan
}

// table reads a query's rows as text.
func (s *site) table(query string) string {
	s.Helper()
	rows, err := s.db.Query(query)
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var out strings.Builder
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			s.Fatal(err)
		}
		for _, v := range values {
			out.WriteString(v.String + " | ")
		}
		out.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return out.String()
}

func (s *site) count(where string) (n int) {
	s.Helper()
	if err := s.db.QueryRow("SELECT COUNT(*) FROM idempotency WHERE " + where).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// args writes the placeholders as the database wants them.
func (s *site) args(query string) string {
	if s.c.Dialect == nebis.Postgres {
		for _, n := range []string{"$1", "$2", "$3"} {
			query = strings.Replace(query, "?", n, 1)
		}
	}
	return query
}

// oldInsert, oldDone and oldRead are what the article has its readers write.
func (s *site) oldInsert(key, scope string) error {
	_, err := s.db.Exec(s.args(`INSERT INTO idempotency (idem_key, scope, status) VALUES (?, ?, 'processing')`), key, scope)
	return err
}

func (s *site) oldDone(key, scope, response string) {
	s.Helper()
	res, err := s.db.Exec(s.args(`UPDATE idempotency SET status = 'done', response = ? WHERE idem_key = ? AND scope = ?`), response, key, scope)
	if err != nil {
		s.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		s.Fatalf("the old code's update of %s matched %d rows", key, n)
	}
}

func (s *site) oldRead(key, scope string) (status, response string) {
	s.Helper()
	var r sql.NullString
	err := s.db.QueryRow(s.args(`SELECT status, response FROM idempotency WHERE idem_key = ? AND scope = ?`), key, scope).Scan(&status, &r)
	if err != nil {
		s.Fatalf("the old code cannot read %s: %v", key, err)
	}
	return status, r.String
}

// duplicate reports whether err is what the old code takes for a duplicate.
func duplicate(err error) bool {
	if err == nil {
		return false
	}
	for _, sign := range []string{"Error 1062", "23505", "duplicate key", "UNIQUE"} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return false
}

// do runs an operation through the Store. ran: its function was called.
func (s *site) do(owner, key, scope string) (got string, ran bool, err error) {
	op := nebis.Op{Scope: scope, Owner: owner, Key: key, Wait: -1}
	got, _, err = nebis.Do(context.Background(), s.store, op, func(context.Context, *sql.Tx) (string, error) {
		ran = true
		return "answer for " + owner, nil
	})
	return got, ran, err
}

// later lets the time pass that rows have left.
func (s *site) later(where string) {
	s.Helper()
	s.exec("UPDATE idempotency SET expires_at = '2020-01-01 00:00:00' WHERE " + where)
}

func (s *site) purge() (n int) {
	s.Helper()
	for {
		some, err := s.store.Purge(context.Background(), 100)
		if err != nil {
			s.Fatal(err)
		}
		if n += some; some == 0 {
			return n
		}
	}
}

// configs are the databases that the tests run on. Two of them are far from
// UTC, with clientFoundRows and with the simple protocol.
func configs() []dbtest.Config {
	zone := func(name, option string) dbtest.Config {
		c := dbtest.Lookup(name).With(option)
		c.Name += "+8"
		return c
	}
	return append([]dbtest.Config{dbtest.Lookup("mariadb"), dbtest.Lookup("mysql56"), dbtest.Lookup("postgres-pgx"), dbtest.Lookup("sqlite-modernc"), dbtest.Lookup("sqlite-mattn")},
		zone("mariadb-rows", "time_zone=%27%2B08%3A00%27"), zone("mysql56-lockwait", "time_zone=%27-08%3A00%27"),
		zone("postgres-pgx-simple", "timezone=Asia/Shanghai"))
}

func each(t *testing.T, test func(*testing.T, dbtest.Config)) {
	for _, c := range configs() {
		t.Run(c.Name, func(t *testing.T) { test(t, c) })
	}
}

func (s *site) findings(o *nebis.Options) []nebis.Finding {
	s.Helper()
	fs, err := s.with(o).Check(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return fs
}

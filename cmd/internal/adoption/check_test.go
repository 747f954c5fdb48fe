package adoption

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// wellSet are the options with which nothing is left to find.
var wellSet = map[string]string{
	"mariadb":        "idle_write_transaction_timeout=60",
	"mysql56":        "innodb_lock_wait_timeout=5&wait_timeout=600&sql_mode=%27STRICT_TRANS_TABLES%27",
	"postgres-pgx":   "idle_in_transaction_session_timeout=60000",
	"postgres-pq":    "idle_in_transaction_session_timeout=60000",
	"sqlite-modernc": "",
	"sqlite-mattn":   "",
}

func TestCheckFindsNothingWhereAllIsWell(t *testing.T) {
	for name, options := range wellSet {
		t.Run(name, func(t *testing.T) {
			s := open(t, dbtest.Lookup(name).With(options))
			s.migrate()
			if fs := s.findings(nil); len(fs) > 0 {
				t.Errorf("%v", fs)
			}
		})
	}
}

func TestCheckOnServersAsTheyCome(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c)
		s.migrate()
		for _, f := range s.findings(nil) {
			if f.Level == nebis.Problem {
				t.Error(f)
			}
		}
	})
}

// Each case breaks one thing on a well-set server with a migrated table; Check
// has to find it, and nothing else.
var broken = []struct {
	config  string
	level   nebis.Level
	code    string
	options string // of the DSN, after those of wellSet
	store   nebis.Options
	sql     []string
}{
	{"mariadb", nebis.Problem, "read-uncommitted", "tx_isolation=%27READ-UNCOMMITTED%27", nebis.Options{}, nil},
	{"mysql56", nebis.Problem, "read-uncommitted", "tx_isolation=%27READ-UNCOMMITTED%27", nebis.Options{}, nil},
	{"mysql56", nebis.Problem, "read-uncommitted", "", nebis.Options{Isolation: sql.LevelReadUncommitted}, nil},
	{"postgres-pgx", nebis.Problem, "read-uncommitted", "default_transaction_isolation=read%20uncommitted", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Problem, "read-uncommitted", "_pragma=read_uncommitted(1)", nebis.Options{}, nil},
	{"mariadb", nebis.Problem, "read-only", "tx_read_only=1", nebis.Options{}, nil},
	{"mysql56", nebis.Problem, "read-only", "tx_read_only=1", nebis.Options{}, nil},
	{"postgres-pq", nebis.Problem, "read-only", "default_transaction_read_only=on", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Problem, "read-only", "_pragma=query_only(1)", nebis.Options{}, nil},
	{"sqlite-mattn", nebis.Problem, "read-only", "_query_only=1", nebis.Options{}, nil},
	{"mariadb", nebis.Warning, "half-open", "idle_write_transaction_timeout=0", nebis.Options{}, nil},
	{"mysql56", nebis.Warning, "half-open", "wait_timeout=28800", nebis.Options{}, nil},
	{"postgres-pgx", nebis.Warning, "half-open", "idle_in_transaction_session_timeout=0", nebis.Options{}, nil},
	{"mysql56", nebis.Warning, "lock-wait", "innodb_lock_wait_timeout=50", nebis.Options{}, nil},
	{"mariadb", nebis.Warning, "not-strict", "sql_mode=%27%27", nebis.Options{}, nil},
	{"mysql56", nebis.Warning, "not-strict", "sql_mode=%27ANSI_QUOTES%27", nebis.Options{}, nil},
	{"mariadb", nebis.Warning, "packet", "", nebis.Options{MaxResponse: 10 << 20}, nil},
	{"mysql56", nebis.Warning, "packet", "", nebis.Options{MaxResponse: 3 << 20}, nil},
	{"mariadb", nebis.Warning, "clock", "timestamp=1700000000", nebis.Options{}, nil},
	{"mysql56", nebis.Warning, "clock", "timestamp=1700000000", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Warning, "busy-timeout", "_pragma=busy_timeout(0)", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Warning, "synchronous-off", "_pragma=synchronous(0)", nebis.Options{}, nil},
	{"sqlite-mattn", nebis.Warning, "synchronous-off", "_synchronous=OFF", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Problem, "journal-off", "_pragma=journal_mode(OFF)", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Warning, "journal-memory", "_pragma=journal_mode(MEMORY)", nebis.Options{}, nil},
	{"sqlite-modernc", nebis.Note, "journal-mode", "_pragma=journal_mode(DELETE)", nebis.Options{}, nil},

	{"mariadb", nebis.Problem, "no-table", "", nebis.Options{}, []string{"DROP TABLE idempotency"}},
	{"postgres-pq", nebis.Problem, "no-table", "", nebis.Options{}, []string{"DROP TABLE idempotency"}},
	{"sqlite-mattn", nebis.Problem, "no-table", "", nebis.Options{}, []string{"DROP TABLE idempotency"}},
	{"mysql56", nebis.Problem, "not-a-table", "", nebis.Options{}, viewOf},
	{"postgres-pgx", nebis.Problem, "not-a-table", "", nebis.Options{}, viewOf},
	{"sqlite-modernc", nebis.Problem, "not-a-table", "", nebis.Options{}, viewOf},
	{"mariadb", nebis.Problem, "engine", "", nebis.Options{}, []string{"ALTER TABLE idempotency ENGINE=MyISAM"}},
	{"mariadb", nebis.Problem, "engine", "", nebis.Options{}, []string{"ALTER TABLE idempotency ENGINE=Aria"}},
	{"postgres-pgx", nebis.Problem, "engine", "", nebis.Options{}, []string{"ALTER TABLE idempotency SET UNLOGGED"}},
	{"mysql56", nebis.Problem, "column-missing", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP error"}},
	{"postgres-pgx", nebis.Problem, "column-missing", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP error"}},
	{"sqlite-modernc", nebis.Problem, "column-missing", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP error"}},
	{"postgres-pgx", nebis.Problem, "column-type", "", nebis.Options{}, []string{"ALTER TABLE idempotency ALTER lease_until TYPE bigint USING 1"}},
	{"mariadb", nebis.Problem, "column-required", "", nebis.Options{}, []string{"ALTER TABLE idempotency ADD shop INT NOT NULL"}},
	{"mariadb", nebis.Problem, "key-folds", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY idem_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL"}},
	{"mariadb", nebis.Problem, "key-folds", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY owner VARCHAR(128) CHARACTER SET ascii NOT NULL DEFAULT ''"}},
	{"mysql56", nebis.Problem, "key-narrow", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY fingerprint VARCHAR(64) NULL"}},
	{"mysql56", nebis.Problem, "status-words", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY status ENUM('processing','done') NOT NULL"}},
	{"mysql56", nebis.Problem, "response-small", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY response TEXT CHARACTER SET utf8mb4 NULL"}},
	{"mariadb", nebis.Problem, "response-alters", "", nebis.Options{}, []string{"ALTER TABLE idempotency MODIFY response MEDIUMTEXT CHARACTER SET utf8 NULL"}},
	{"postgres-pgx", nebis.Warning, "response-json", "", nebis.Options{}, []string{"ALTER TABLE idempotency ALTER response TYPE jsonb USING response::jsonb"}},

	{"mariadb", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP INDEX idempotency_uk"}},
	{"mysql56", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP INDEX idempotency_uk, ADD KEY idempotency_uk (idem_key, scope, owner)"}},
	{"mysql56", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP INDEX idempotency_uk, ADD UNIQUE idempotency_uk (idem_key, scope, owner, status)"}},
	{"mysql56", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP INDEX idempotency_uk, ADD UNIQUE idempotency_uk (idem_key(9), scope, owner)"}},
	{"postgres-pgx", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"DROP INDEX idempotency_uk", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (idem_key, scope, owner) WHERE status = 'done'"}},
	{"postgres-pgx", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"DROP INDEX idempotency_uk", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (lower(idem_key), scope, owner)"}},
	{"sqlite-modernc", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"DROP INDEX idempotency_uk", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (idem_key COLLATE NOCASE, scope, owner)"}},
	{"sqlite-mattn", nebis.Problem, "unique-index", "", nebis.Options{}, []string{"DROP INDEX idempotency_uk", "CREATE UNIQUE INDEX idempotency_uk ON idempotency (idem_key, scope, owner) WHERE status = 'done'"}},
	{"mariadb", nebis.Problem, "unique-other", "", nebis.Options{}, []string{"ALTER TABLE idempotency ADD UNIQUE one_each (owner, scope)"}},
	{"postgres-pgx", nebis.Problem, "unique-other", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey, ADD PRIMARY KEY (idem_key, scope)", "CREATE INDEX by_id ON idempotency (id)"}},
	{"postgres-pgx", nebis.Warning, "id-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey"}},
	{"mariadb", nebis.Warning, "expires-index", "", nebis.Options{}, []string{"ALTER TABLE idempotency DROP INDEX idempotency_idx_expires"}},
	{"sqlite-mattn", nebis.Warning, "expires-index", "", nebis.Options{}, []string{"DROP INDEX idempotency_idx_expires"}},

	{"mariadb", nebis.Note, "old-index", "", nebis.Options{}, oldUK},
	{"postgres-pq", nebis.Note, "old-index", "", nebis.Options{}, oldUK},
	{"sqlite-mattn", nebis.Note, "old-index", "", nebis.Options{}, oldUK},
	{"mysql56", nebis.Note, "old-rows", "", nebis.Options{}, append(oldUK[:1:1], oldRow)},
	{"postgres-pgx", nebis.Note, "old-rows", "", nebis.Options{}, append(oldUK[:1:1], oldRow)},
	{"sqlite-modernc", nebis.Note, "old-rows", "", nebis.Options{}, append(oldUK[:1:1], oldRow)},
	{"mariadb", nebis.Warning, "old-loose", "", nebis.Options{}, []string{oldRow}},
	{"postgres-pgx", nebis.Warning, "old-loose", "", nebis.Options{}, []string{oldRow}},
}

var (
	viewOf = []string{"CREATE TABLE other (a INT)", "DROP TABLE idempotency", "CREATE VIEW idempotency AS SELECT a FROM other"}
	oldUK  = []string{"CREATE UNIQUE INDEX uk_key_scope ON idempotency (idem_key, scope)"}
)

const oldRow = "INSERT INTO idempotency (idem_key, scope, status) VALUES ('k1', 'order', 'done')"

func TestCheckFindsEachTroubleAlone(t *testing.T) {
	for i, b := range broken {
		t.Run(fmt.Sprintf("%02d/%s/%s", i, b.config, b.code), func(t *testing.T) {
			c := dbtest.Lookup(b.config).With(wellSet[b.config])
			dsn := c.Fresh(t)
			s := &site{TB: t, c: c, db: c.Pool(t, dsn)}
			s.store = s.with(nil)
			s.migrate()
			s.exec(b.sql...)
			s.db.Close()
			s.db = c.Pool(t, set(dsn, b.options))
			fs := s.findings(&b.store)
			if len(fs) != 1 || fs[0].Level != b.level || fs[0].Code != b.code || fs[0].Do == "" {
				t.Errorf("%v", fs)
			}
		})
	}
}

// set puts an option into a DSN, in place of the one that is there.
func set(dsn, options string) string {
	base, rest, _ := strings.Cut(dsn, "?")
	var kept []string
	for _, o := range strings.Split(rest, "&") {
		name, _, _ := strings.Cut(o, "=")
		if pragma, _, ok := strings.Cut(o, "("); ok {
			name = pragma
		}
		if o != "" && (options == "" || !strings.HasPrefix(options, name)) {
			kept = append(kept, o)
		}
	}
	return base + "?" + strings.Join(slices.DeleteFunc(append(kept, options), func(o string) bool { return o == "" }), "&")
}

func TestCheckTellsWhenTheOldRowsGo(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		s.exec("UPDATE idempotency SET expires_at = '2031-02-03 04:05:06" + map[nebis.Dialect]string{nebis.Postgres: "+00"}[c.Dialect] + "' WHERE id = 2")
		for _, f := range s.findings(nil) {
			if f.Code == "old-rows" && strings.Contains(f.What, "6 rows") && strings.Contains(f.What, "2031-02-03 04:05:06") {
				return
			}
		}
		t.Errorf("%v", s.findings(nil))
	})
}

// An index that a CREATE INDEX CONCURRENTLY left half made.
func TestInvalidIndex(t *testing.T) {
	s := open(t, dbtest.Lookup("postgres-pgx"))
	s.migrate()
	s.exec("DROP INDEX idempotency_uk", oldRow, oldRow)
	if _, err := s.db.Exec("CREATE UNIQUE INDEX CONCURRENTLY idempotency_uk ON idempotency (idem_key, scope, owner)"); err == nil {
		t.Fatal("doubles went into a unique index")
	}
	s.exec("DELETE FROM idempotency WHERE id = 1")
	if fs := s.findings(nil); fs[0].Code != "unique-index" || !strings.Contains(fs[0].What, "invalid true") {
		t.Errorf("%v", fs)
	}
	s.migrate()
	if ran := s.migrate(); len(ran) != 0 {
		t.Errorf("the second run did %q", ran)
	}
	if left := s.table("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'idempotency'::regclass AND NOT indisvalid"); left != "" {
		t.Errorf("still there: %s", left)
	}
}

func TestCheckWithFewRights(t *testing.T) {
	grants := map[string][]string{
		"mariadb":      {"CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT INSERT ON idempotency TO '%s'@'127.0.0.1'"},
		"mysql56":      {"CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT INSERT ON idempotency TO '%s'@'127.0.0.1'"},
		"postgres-pgx": {"CREATE ROLE %s LOGIN PASSWORD 'x'", "GRANT USAGE ON SCHEMA %[2]s TO %[1]s"},
	}
	for name, statements := range grants {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name).With(wellSet[name])
			dsn := c.Fresh(t)
			s := &site{TB: t, c: c, db: c.Pool(t, dsn)}
			s.store = s.with(nil)
			s.migrate()
			var here string
			if err := s.db.QueryRow(map[nebis.Dialect]string{nebis.MySQL: "SELECT DATABASE()", nebis.Postgres: "SELECT current_schema()"}[c.Dialect]).Scan(&here); err != nil {
				t.Fatal(err)
			}
			user := "u" + here[2:]
			for _, q := range statements {
				if strings.Contains(q, "%[2]s") {
					q = fmt.Sprintf(q, user, here)
				} else {
					q = fmt.Sprintf(q, user)
				}
				s.exec(q)
			}
			t.Cleanup(func() {
				admin := c.Pool(t, dsn)
				defer admin.Close()
				if c.Dialect == nebis.MySQL {
					admin.ExecContext(context.Background(), "DROP USER '"+user+"'@'127.0.0.1'")
					return
				}
				admin.ExecContext(context.Background(), "DROP OWNED BY "+user)
				admin.ExecContext(context.Background(), "DROP ROLE "+user)
			})
			s.db = c.Pool(t, strings.Replace(dsn, "nebis:nebis@", user+":x@", 1))
			fs := s.findings(nil)
			if len(fs) != 1 || fs[0].Code != "not-read" || fs[0].Level != nebis.Note {
				t.Errorf("%v", fs)
			}
		})
	}
}

func TestCheckOfADatabaseOutOfReach(t *testing.T) {
	db := dbtest.Lookup("postgres-pgx").Pool(t, "postgres://nobody@127.0.0.1:1/none")
	s, err := nebis.New(db, nebis.Postgres, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fs, err := s.Check(context.Background()); err == nil || fs != nil {
		t.Error(fs, err)
	}
}

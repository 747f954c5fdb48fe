package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/daily"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// The tests' servers are as they come, so these are found everywhere.
var asTheyCome = []string{"check", "--ignore", "half-open", "--ignore", "not-strict", "--ignore", "packet"}

func (k *keyed) check(code int, args ...string) (codes string, r daily.Report) {
	k.t.Helper()
	got, stdout, stderr := k.call(append(append(asTheyCome[:len(asTheyCome):len(asTheyCome)], "--json"), args...)...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || got != code || stderr != "" {
		k.t.Errorf("exit %d, wanted %d, %v: %s%s", got, code, err, stdout, stderr)
	}
	var all []string
	for _, f := range r.Findings {
		if f.What == "" || f.Why == "" || f.Do == "" {
			k.t.Errorf("it does not say what, why and what to do: %+v", f)
		}
		all = append(all, f.Code)
	}
	return strings.Join(all, " "), r
}

func TestCheckOfASoundTable(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease(nebis.Anyone, "k", nil)
		codes, r := k.check(0)
		if codes != "" || r.Rows != 1 || !strings.Contains(strings.Join(r.Looked, "\n"), "a takeover, which work") {
			t.Errorf("%s: %+v", codes, r)
		}
		var n int
		if err := k.db.QueryRow("SELECT COUNT(*) FROM idempotency").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v: what was tried is still there", n, err)
		}
		if code, stdout, _ := k.call(asTheyCome...); code != 0 || !strings.HasPrefix(stdout, "nebis check OK: table idempotency in ") {
			t.Errorf("exit %d: %s", code, stdout)
		}
	})
}

func TestCheckNamesATransactionThatIsStuck(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.hold(func() {
			// On SQLite nothing can be tried beside a writer that does not end.
			codes, r := k.check(1, "--stuck-after", "1ms", "--read-only")
			if codes != "stuck" {
				t.Fatalf("%s: %+v", codes, r)
			}
			do := map[nebis.Dialect]string{nebis.MySQL: "KILL ", nebis.Postgres: "pg_terminate_backend(", nebis.SQLite: "fuser"}[k.store.Dialect()]
			if !strings.Contains(r.Findings[0].Do, do) || strings.Contains(r.Findings[0].What, "held-secret") {
				t.Errorf("%+v", r.Findings[0])
			}
		})
	})
}

func TestCheckNamesAnAbandonedLease(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease("ann", "k", errors.New("the line broke"))
		k.shift(1, "lease_until", "created_at")
		codes, r := k.check(1)
		if codes != "unknown" || !strings.Contains(r.Findings[0].Do, "nebis resolve") || !strings.Contains(r.Findings[0].What, "ended: 1.") {
			t.Errorf("%s: %+v", codes, r)
		}
	})
}

func TestCheckNamesATableThatNobodyCleans(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease("ann", "k", nil)
		k.shift(48+23, "created_at", "expires_at")
		if codes, r := k.check(1); codes != "clean-up" || !strings.Contains(r.Findings[0].Do, "nebis clean") {
			t.Errorf("%s: %+v", codes, r)
		}
	})
}

func TestCheckNamesADroppedIndexAndTriesNothing(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		drop := "DROP INDEX idempotency_uk"
		if k.store.Dialect() == nebis.MySQL {
			drop = "ALTER TABLE idempotency DROP INDEX idempotency_uk"
		}
		k.exec(drop)
		codes, r := k.check(1)
		if codes != "unique-index" || !strings.Contains(r.Findings[0].Do, "Migrate") || !strings.Contains(strings.Join(r.Skipped, " "), "not tried") {
			t.Errorf("%s: %+v", codes, r)
		}
	})
}

func TestCheckNamesOldCodeThatStillWrites(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.exec("CREATE UNIQUE INDEX uk_key_scope ON idempotency (idem_key, scope)")
		old := "INSERT INTO idempotency (idem_key, scope, status, expires_at) SELECT '%', 'pay', 'done', MAX(expires_at) FROM idempotency"
		k.exec(strings.Replace(old, "%", "before", 1))
		k.lease("ann", "k", nil)
		k.exec("DELETE FROM idempotency WHERE idem_key = 'before'")
		k.exec("DROP INDEX uk_key_scope" + map[nebis.Dialect]string{nebis.MySQL: " ON idempotency"}[k.store.Dialect()])
		if codes, r := k.check(0); codes != "" {
			t.Errorf("before it writes: %s: %+v", codes, r)
		}
		k.exec("CREATE UNIQUE INDEX uk_key_scope ON idempotency (idem_key, scope)")
		k.exec(strings.Replace(old, "%", "after", 1))
		codes, r := k.check(1)
		if codes != "old-code old-rows" || !strings.Contains(r.Findings[0].What, "scope pay") {
			t.Errorf("%s: %+v", codes, r)
		}
	})
}

func TestCheckNamesAFoldingCollationAndAClockThatIsOff(t *testing.T) {
	for name, c := range map[string]struct{ ddl, set, codes string }{
		"mariadb":        {"ALTER TABLE idempotency MODIFY idem_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL", "?timestamp=1700000000", "key-folds clock"},
		"mysql56":        {"ALTER TABLE idempotency MODIFY scope VARCHAR(64) CHARACTER SET ascii NOT NULL", "?timestamp=1700000000", "key-folds clock"},
		"postgres-pgx":   {`CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`, "", "key-folds"},
		"sqlite-modernc": {"", "", "key-folds unique-index"},
	} {
		t.Run(name, func(t *testing.T) {
			url := dburltest.On(t, name)
			k := newKeyed(t, url, "")
			switch name {
			case "postgres-pgx":
				k.exec(c.ddl)
				k.exec("ALTER TABLE idempotency ALTER idem_key TYPE VARCHAR(255) COLLATE folds")
			case "sqlite-modernc":
				k.exec("DROP TABLE idempotency")
				schema, err := nebis.SQLite.Schema("")
				if err != nil {
					t.Fatal(err)
				}
				for statement := range strings.SplitSeq(strings.Replace(schema, "idem_key TEXT", "idem_key TEXT COLLATE NOCASE", 1), ";\n") {
					k.exec(statement)
				}
			default:
				k.exec(c.ddl)
			}
			k.url += c.set
			codes, r := k.check(1, "--read-only")
			if codes != c.codes {
				t.Errorf("%s: %+v", codes, r)
			}
		})
	}
}

func TestCheckComparesKeepTimesWithTheProviders(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		for scope, keep := range map[string]int{"alipay": 24, "stripe": 35 * 24, "order": 24} {
			op := nebis.Op{Scope: scope, Owner: "a", Key: "k", Keep: time.Duration(keep) * time.Hour}
			if _, _, err := nebis.Lease(t.Context(), k.store, op, nil, func(context.Context) (int, error) { return 1, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if codes, r := k.check(1); codes != "keep-short" || !strings.Contains(r.Findings[0].What, "alipay") {
			t.Errorf("%s: %+v", codes, r)
		}
	})
}

func TestCheckRemembersHowLargeTheTableWas(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.counts(true)
		k.check(0)
		k.lease("ann", "k", nil)
		k.check(0)
		var n, rows int
		if err := k.db.QueryRow("SELECT COUNT(*), SUM(times) FROM idempotency_hourly WHERE scope = 'nebis.check'").Scan(&n, &rows); err != nil || rows != n && rows != 1 {
			t.Errorf("%d lines, %d rows, %v", n, rows, err)
		}
	})
}

// Neither a table that is not migrated nor an account that may only read is in the
// way of the rest.
func TestCheckOfATableThatIsNotMigratedYet(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "other")
		id := map[nebis.Dialect]string{nebis.MySQL: "BIGINT AUTO_INCREMENT PRIMARY KEY", nebis.Postgres: "BIGSERIAL PRIMARY KEY", nebis.SQLite: "INTEGER PRIMARY KEY"}[k.store.Dialect()]
		k.exec("CREATE TABLE idempotency (id " + id + ", idem_key CHAR(36) NOT NULL, scope VARCHAR(32) NOT NULL, status VARCHAR(16) NOT NULL, response TEXT)")
		k.exec("INSERT INTO idempotency (idem_key, scope, status) VALUES ('a', 'order', 'done')")
		codes, r := k.check(1)
		if !strings.Contains(codes, "column-missing") || r.Rows != 1 {
			t.Errorf("%s: %+v", codes, r)
		}
		k.exec("DROP TABLE idempotency")
		if codes, _ := k.check(1, "--table", "nothing"); codes != "no-table" {
			t.Error(codes)
		}
	})
}

func TestExitCodesOfCheck(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	for _, c := range []struct {
		code int
		says string
		args string
	}{
		{0, "nebis check OK", "check"},
		{2, "--stuck-after", "check --stuck-after 0s"},
		{2, "--budget", "check --budget -1s"},
		{2, "--notify", "check --notify ftp://x"},
		{2, "--notify", "check --notify https://x/s3cret --notify-as pigeon"},
		{2, "--table", "check --table a.b.c"},
		{0, "Exit code", "check --help"},
	} {
		k.want(c.code, c.says, strings.Fields(c.args)...)
	}
	none := "sqlite:" + filepath.Join(t.TempDir(), "none.db")
	code, stdout, stderr := call(t, nil, "check", "--db", none)
	if code != 2 || !strings.HasPrefix(stdout, "nebis check CRITICAL: could not run: ") || stderr != "" {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(strings.TrimPrefix(none, "sqlite:")); err == nil {
		t.Error("the file was made")
	}
}

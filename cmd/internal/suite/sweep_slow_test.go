package suite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Each statement is ended after a second, and rows take their time to go: what was
// removed before a time-out stays removed, the sweep goes on with less and comes to
// its end, and claims beside it are answered. MySQL 5.6 and SQLite have no time-out
// of their own: there it is that of the sweep's step, Options.CommitWait.
func TestASweepObeysAStatementTimeout(t *testing.T) {
	for name, option := range map[string]string{"mariadb": "max_statement_time=1", "mysql56": "", "postgres-pgx": "statement_timeout=1000", "sqlite-modernc": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dbtest.Lookup(name).With(option)
			db := c.Open(t)
			var o nebis.Options
			switch c.Dialect {
			case nebis.MySQL:
				if option == "" {
					o.CommitWait = time.Second
				}
			case nebis.SQLite:
				o.CommitWait = hundredRows(t, db)
			}
			s, err := nebis.New(db, c.Dialect, &o)
			if err != nil {
				t.Fatal(err)
			}
			patient, err := nebis.New(db, c.Dialect, nil)
			if err == nil {
				_, err = s.Migrate(t.Context(), false)
			}
			if err != nil {
				t.Fatal(err)
			}
			fillExpired(t, db, 1000)
			slowly(t, db, c.Dialect)
			var seen []nebis.Swept
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					claimTwice(t, patient, fmt.Sprint("beside-", n))
				}
			})
			done, err := s.Sweep(t.Context(), &nebis.SweepOptions{Progress: func(n nebis.Swept) { seen = append(seen, n) }})
			stop()
			wg.Wait()
			if err != nil || done.Rows != 240 || len(seen) < 2 || seen[0].Rows > 100 {
				t.Errorf("done %+v, on the way %+v, error %v", done, seen, err)
			}
		})
	}
}

// sqliteWork is what keeps SQLite, which cannot sleep, at work for a row.
const sqliteWork = `SELECT SUM(n) FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1500) SELECT n FROM c)`

// hundredRows is how long it takes a hundred rows to go on SQLite, on a machine as busy
// as this one is.
func hundredRows(t *testing.T, db *sql.DB) time.Duration {
	t.Helper()
	begun := time.Now()
	for range 10 {
		if _, err := db.ExecContext(t.Context(), sqliteWork); err != nil {
			t.Fatal(err)
		}
	}
	return 10 * time.Since(begun)
}

// slowly leaves 240 rows that take 10 milliseconds each to go.
func slowly(t *testing.T, db *sql.DB, d nebis.Dialect) {
	t.Helper()
	slow := map[nebis.Dialect]string{
		nebis.MySQL: `CREATE TRIGGER slowly BEFORE DELETE ON idempotency FOR EACH ROW BEGIN DECLARE n INT; SET n = SLEEP(0.01); END`,
		nebis.Postgres: `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN old; END';
CREATE TRIGGER slowly BEFORE DELETE ON idempotency FOR EACH ROW EXECUTE FUNCTION slowly()`,
		nebis.SQLite: `CREATE TRIGGER slowly BEFORE DELETE ON idempotency BEGIN ` + sqliteWork + `; END`,
	}[d]
	statements := []string{`DELETE FROM idempotency WHERE id > (SELECT n FROM (SELECT MIN(id) + 239 AS n FROM idempotency) AS x)`, slow}
	if d == nebis.Postgres {
		statements = append(statements[:1], strings.Split(slow, ";\n")...)
	}
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

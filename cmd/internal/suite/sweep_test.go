package suite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Many expired rows, removed beside claims of new and of expired keys; a million,
// with the time that it takes, are BenchmarkSweep.
func TestClaimsBesideASweepOfManyRows(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "sqlite-modernc"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			const rows = 20_000
			fillExpired(t, db, rows)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var wg sync.WaitGroup
			for client := range 8 {
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						key := fmt.Sprintf("new-%d-%d", client, n)
						if n%2 == 0 {
							key = fmt.Sprintf("old-%d", (n*8+client)%rows)
						}
						claimTwice(t, s, key)
					}
				})
			}
			done, err := s.Sweep(t.Context(), nil)
			stop()
			wg.Wait()
			if err != nil || done.Rows == 0 || done.Rows > rows {
				t.Errorf("done %+v, error %v", done, err)
			}
			if n, _, err := s.Expired(t.Context(), 0, rows); err != nil || n != 0 {
				t.Errorf("%d left, error %v", n, err)
			}
		})
	}
}

func fillExpired(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	for from := 0; from < rows; from += 1000 {
		var v strings.Builder
		for i := from; i < from+1000; i++ {
			fmt.Fprintf(&v, ",('old-%d', 'order', 'u', 'done', 't', '{}', '2001-01-%02d 00:00:00')", i, i%28+1)
		}
		if _, err := db.Exec("INSERT INTO idempotency (idem_key, scope, owner, status, token, response, expires_at) VALUES " + v.String()[1:]); err != nil {
			t.Fatal(err)
		}
	}
}

// claimTwice runs a key and sends it again: whatever the sweep removes meanwhile,
// the second is a replay.
func claimTwice(t *testing.T, s *nebis.Store, key string) {
	runs := 0
	for range 2 {
		_, _, err := nebis.Do(context.Background(), s, nebis.Op{Scope: "order", Owner: "u", Key: key}, func(context.Context, *sql.Tx) (int, error) {
			runs++
			return runs, nil
		})
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if runs > 1 {
		t.Errorf("%s ran %d times", key, runs)
	}
}

// A server that ends each statement after a second, and rows that take their time:
// what was removed before a time-out stays removed, and the sweep goes on with less.
func TestASweepObeysAStatementTimeout(t *testing.T) {
	c := dbtest.Lookup("postgres-pgx").With("statement_timeout=1000")
	db := c.Open(t)
	s, err := nebis.New(db, c.Dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	fillExpired(t, db, 1000)
	for _, q := range []string{
		`DELETE FROM idempotency WHERE id > 200`,
		`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN old; END'`,
		`CREATE TRIGGER slowly BEFORE DELETE ON idempotency FOR EACH ROW EXECUTE FUNCTION slowly()`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	done, err := s.Sweep(t.Context(), nil)
	if err != nil || done.Rows != 200 || done.Batches < 2 {
		t.Errorf("done %+v, error %v", done, err)
	}
}

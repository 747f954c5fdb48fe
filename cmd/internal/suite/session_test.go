package suite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Whatever the connection's charset is, a replay is the first result: "utf8" has
// no emoji, latin1 no Chinese.
func TestAnAnswerDoesNotGoThroughTheConnectionsCharset(t *testing.T) {
	const tea = `茶 😀 "é" \ end`
	answer := func(context.Context, *sql.Tx) (string, error) { return tea, nil }
	for _, name := range []string{"mariadb", "mysql56"} {
		c := dbtest.Lookup(name)
		dsn := c.Fresh(t)
		with := func(options string) *sql.DB { return c.Pool(t, dsn+"?"+options) }
		createTables(t, with("charset=utf8mb4"), c)
		for _, options := range []string{"charset=utf8", "charset=latin1", "charset=gbk", "charset=utf8&sql_mode=%27%27", "charset=utf8&interpolateParams=true", "charset=utf8mb4"} {
			t.Run(name+" "+options, func(t *testing.T) {
				for i, read := range []string{options, "charset=utf8mb4", "charset=latin1"} {
					first, err := nebis.New(with(options), c.Dialect, nil)
					must(t, err)
					again, err := nebis.New(with(read), c.Dialect, nil)
					must(t, err)
					op := nebis.Op{Scope: "s", Owner: "o", Key: fmt.Sprint(options, i)}
					v, _, err := nebis.Do(t.Context(), first, op, answer)
					w, replayed, err2 := nebis.Do(t.Context(), again, op, answer)
					if v != tea || w != tea || !replayed || err != nil || err2 != nil {
						t.Errorf("read by %s: %q, %q %t, %v, %v", read, v, w, replayed, err, err2)
					}
				}
			})
		}
	}
}

// Two owners with one key, where the old code's index is in the way: the server's
// error quotes the key, cut to 64 characters.
func TestNoPartOfALongKeyIsInAnErrorsText(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "sqlite-modernc"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			_, err := db.Exec("CREATE UNIQUE INDEX old_index ON idempotency (idem_key, scope)")
			must(t, err)
			for _, key := range []string{"SECRET-" + strings.Repeat("k", 230), "SECRET'" + strings.Repeat("'k", 50)} {
				a := nebis.Op{Scope: "s", Owner: "SECRET-owner", Key: key}
				b := a
				b.Owner = "SECRET-" + strings.Repeat("o", 100)
				_, _, err = nebis.Do(t.Context(), s, a, one)
				must(t, err)
				if _, _, err = nebis.Do(t.Context(), s, b, one); err == nil || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func TestCheckTellsOfSessionsThatReadWhatIsNotCommittedOrBeginByThemselves(t *testing.T) {
	for option, code := range map[string]string{"tx_isolation=%27READ-UNCOMMITTED%27": "read-uncommitted", "autocommit=0": "autocommit-off"} {
		for _, name := range []string{"mariadb", "mysql56"} {
			c := dbtest.Lookup(name).With(option)
			db := c.Open(t)
			s, err := nebis.New(db, c.Dialect, &nebis.Options{Isolation: sql.LevelRepeatableRead})
			must(t, err)
			found, err := s.Check(t.Context())
			must(t, err)
			if !slices.ContainsFunc(found, func(f nebis.Finding) bool { return f.Code == code && f.Level == nebis.Problem }) {
				t.Errorf("%s, %s: %v", name, option, found)
			}
		}
	}
}

// The limit that a claim sets for its own waits is not one for the business's,
// however the key was won.
func TestTheFunctionHasTheSessionsOwnLimitToLockWaits(t *testing.T) {
	for name, limit := range map[string]struct{ set, ask, want string }{
		"postgres-pgx":        {"options=-c%20lock_timeout%3D77s", "SELECT current_setting('lock_timeout')", "77s"},
		"postgres-pgx-simple": {"options=-c%20lock_timeout%3D77s", "SELECT current_setting('lock_timeout')", "77s"},
		"postgres-pq":         {"options=-c%20lock_timeout%3D77s", "SELECT current_setting('lock_timeout')", "77s"},
		"mariadb":             {"innodb_lock_wait_timeout=77", "SELECT @@innodb_lock_wait_timeout", "77"},
		"mysql56":             {"innodb_lock_wait_timeout=77", "SELECT @@innodb_lock_wait_timeout", "77"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name).With(limit.set)
			db := c.Open(t)
			createTables(t, db, c)
			s, err := nebis.New(db, c.Dialect, nil)
			must(t, err)
			ask := func(ctx context.Context, tx *sql.Tx) (got string, err error) {
				err = tx.QueryRowContext(ctx, limit.ask).Scan(&got)
				return got, err
			}
			again := op
			again.Recheck = func(context.Context, *sql.Tx, []byte) (bool, error) { return false, nil }
			for _, way := range []struct {
				name    string
				op      nebis.Op
				prepare string
			}{
				{"a new key", op, ""},
				{"an expired one", op, "UPDATE idempotency SET expires_at = created_at"},
				{"a freed one", op, "UPDATE idempotency SET status = 'failed'"},
				{"a rechecked one", again, ""},
			} {
				if way.prepare != "" {
					_, err := db.Exec(way.prepare)
					must(t, err)
				}
				if got, replayed, err := nebis.Do(t.Context(), s, way.op, ask); got != limit.want || replayed || err != nil {
					t.Errorf("%s: %q, replayed %t, %v", way.name, got, replayed, err)
				}
			}
			if got := afterAWait(t, db, s, ask); got != limit.want {
				t.Errorf("a key waited for: %q", got)
			}
		})
	}
}

// afterAWait returns the result of f under a key that another transaction held
// when f's call came.
func afterAWait(t *testing.T, db *sql.DB, s *nebis.Store, f func(context.Context, *sql.Tx) (string, error)) (got string) {
	op := op
	op.Key = "waited"
	holder, err := db.Begin()
	must(t, err)
	_, err = holder.Exec("INSERT INTO idempotency (idem_key, scope, owner) VALUES ('waited', 's', 'o')")
	must(t, err)
	over := make(chan error)
	go func() {
		var err error
		got, _, err = nebis.Do(t.Context(), s, op, f)
		over <- err
	}()
	for db.Stats().InUse < 2 {
		time.Sleep(time.Millisecond)
	}
	must(t, holder.Rollback())
	must(t, <-over)
	return got
}

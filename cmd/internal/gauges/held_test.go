package gauges

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// What another program's transaction holds is counted once it is old, and no more
// when it has ended. It is in nobody's rows.
func TestATransactionThatHoldsAKeyIsCounted(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			db, s := open(t, c)
			hasty, err := New(db, s, Options{Every: 1, Over: 1})
			must(t, err)
			patient, err := New(db, s, Options{Every: 1, Over: time.Hour})
			must(t, err)
			want := func(when string, soon int) {
				t.Helper()
				for r, stuck := range map[*Reader]int{hasty: soon, patient: 0} {
					n := r.Read()
					must(t, n.Err)
					if c.Kind == dbtest.SQLite {
						if n.Held != nil {
							t.Errorf("%s: SQLite tells %+v", when, n.Held)
						}
						continue
					}
					if n.Held == nil || n.Held.Stuck != stuck || n.Held.Hidden != 0 {
						t.Errorf("%s: %+v, want %d", when, n.Held, stuck)
					}
					if n.Rows[nebis.StateUnknown] != 0 || n.Rows[nebis.StateInProgress] != 0 || n.Oldest != 0 {
						t.Errorf("%s: an open transaction is told as a row: %+v", when, n)
					}
				}
			}
			want("before", 0)
			_, _, err = nebis.Do(t.Context(), s, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, func(context.Context, *sql.Tx) (int, error) {
				want("meanwhile", 1)
				return 1, nil
			})
			must(t, err)
			want("afterwards", 0)
		})
	}
}

// A lease is a row that everybody sees, and no transaction.
func TestALeaseIsNoOpenTransaction(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			db, s := open(t, c)
			r, err := New(db, s, Options{Every: 1, Over: 1})
			must(t, err)
			_, _, err = nebis.Lease(t.Context(), s, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, nil, func(context.Context) (int, error) {
				n := r.Read()
				if n.Err != nil || n.Rows[nebis.StateInProgress] != 1 || n.Held != nil && n.Held.Stuck != 0 {
					t.Errorf("%+v, held %+v", n, n.Held)
				}
				return 1, nil
			})
			must(t, err)
		})
	}
}

// Where nothing is said, a key is held for too long after 60 seconds. The transaction
// itself makes its claim older.
func TestSixtySecondsAreTooLong(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			db, s := open(t, dbtest.Lookup(name))
			r, err := New(db, s, Options{Every: 1})
			must(t, err)
			enough := errors.New("seen")
			for seconds, want := range map[int]int{30: 0, 61: 1} {
				_, _, err = nebis.Do(t.Context(), s, nebis.Op{Scope: "order", Owner: "ann", Key: "1"}, func(ctx context.Context, tx *sql.Tx) (int, error) {
					_, err := tx.ExecContext(ctx, `UPDATE idempotency SET created_at = created_at - INTERVAL ? SECOND`, seconds)
					must(t, err)
					if n := r.Read(); n.Err != nil || n.Held.Stuck != want {
						t.Errorf("after %d s: %+v, %v", seconds, n.Held, n.Err)
					}
					return 0, enough
				})
				if !errors.Is(err, enough) {
					t.Fatal(err)
				}
			}
		})
	}
}

// A server that does not tell of transactions tells the rest.
func TestWhatCannotBeToldHidesNothingElse(t *testing.T) {
	c := dbtest.Lookup("postgres-pgx")
	dsn := c.Fresh(t)
	db := c.Pool(t, dsn)
	s, err := nebis.New(db, c.Dialect, nil)
	must(t, err)
	_, err = s.Migrate(t.Context(), false)
	must(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE VIEW pg_stat_activity AS SELECT 1 AS nothing`)
	must(t, err)
	poor := c.Pool(t, regexp.MustCompile(`search_path=\w+`).ReplaceAllString(dsn, "$0,pg_catalog")) // which has that view first
	for told, db := range map[bool]*sql.DB{true: db, false: poor} {
		r, err := New(db, s, Options{Every: 1})
		must(t, err)
		if n := r.Read(); n.Err != nil || (n.Held != nil) != told {
			t.Errorf("it should be told: %v. %+v", told, n)
		}
	}
}

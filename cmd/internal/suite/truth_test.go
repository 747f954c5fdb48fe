package suite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// each runs a test on one configuration of every product and driver.
func each(t *testing.T, f func(t *testing.T, c dbtest.Config)) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) { f(t, c) })
	}
}

var errMine = errors.New("mine")

func one(ctx context.Context, tx *sql.Tx) (int, error) {
	_, err := tx.ExecContext(ctx, "INSERT INTO o VALUES (1)")
	return 1, err
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM o").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A function that ends its transaction by hand and then fails: the error says
// whether something stays.
func TestAFailureAfterAnEndByHandTellsWhatStays(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, tx *sql.Tx, cancel func()){
		"COMMIT":                     func(ctx context.Context, tx *sql.Tx, _ func()) { tx.ExecContext(ctx, "COMMIT") },
		"COMMIT and the context":     func(ctx context.Context, tx *sql.Tx, cancel func()) { tx.ExecContext(ctx, "COMMIT"); cancel() },
		"tx.Commit":                  func(_ context.Context, tx *sql.Tx, _ func()) { tx.Commit() },
		"tx.Commit and the context":  func(_ context.Context, tx *sql.Tx, cancel func()) { tx.Commit(); cancel() },
		"tx.Rollback":                func(_ context.Context, tx *sql.Tx, _ func()) { tx.Rollback() },
		"ROLLBACK":                   func(ctx context.Context, tx *sql.Tx, _ func()) { tx.ExecContext(ctx, "ROLLBACK") },
		"the context alone":          func(_ context.Context, _ *sql.Tx, cancel func()) { cancel() },
		"tx.Rollback, then a cancel": func(_ context.Context, tx *sql.Tx, cancel func()) { tx.Rollback(); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, db *sql.DB, s *nebis.Store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, _, err := nebis.Do(ctx, s, op, func(ctx context.Context, tx *sql.Tx) (int, error) {
					one(ctx, tx)
					end(ctx, tx, cancel)
					return 0, errMine
				})
				if !errors.Is(err, errMine) {
					t.Errorf("the function's error is lost: %v", err)
				}
				stays := count(t, db) == 1
				if told := errors.Is(err, nebis.ErrUnknown) && errors.Is(err, nebis.ErrTxGone); told != stays {
					t.Errorf("stays: %t; told: %v", stays, err)
				}
				if !stays && errors.Is(err, nebis.ErrTxGone) != errors.Is(err, nebis.ErrNotCommitted) {
					t.Errorf("nothing stays; told: %v", err)
				}
				if n := db.Stats().InUse; n != 0 {
					t.Errorf("%d connections in use", n)
				}
			})
		})
	}
}

func eachStore(t *testing.T, f func(t *testing.T, db *sql.DB, s *nebis.Store)) {
	each(t, func(t *testing.T, c dbtest.Config) {
		db, s := setup(t, c.Name, nil)
		f(t, db, s)
	})
}

func TestADoTxInsideADoTxIsUndoneWithIt(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sql.DB, s *nebis.Store) {
		for _, outer := range []error{nil, errMine} {
			tx, err := db.Begin()
			must(t, err)
			_, _, err = nebis.DoTx(t.Context(), s, tx, op, func(ctx context.Context) (int, error) {
				in := op
				in.Key = "inner"
				if _, _, err := nebis.DoTx(ctx, s, tx, in, func(ctx context.Context) (int, error) { return one(ctx, tx) }); err != nil {
					return 0, fmt.Errorf("inner: %w", err)
				}
				_, err := one(ctx, tx)
				return 1, errors.Join(err, outer)
			})
			if errors.Is(err, errMine) != (outer != nil) || errors.Is(err, nebis.ErrTxGone) {
				t.Errorf("outer function ends with %v: %v", outer, err)
			}
			var n int
			must(t, tx.QueryRow("SELECT COUNT(*) FROM o").Scan(&n))
			if want := map[bool]int{true: 2, false: 0}[outer == nil]; n != want {
				t.Errorf("outer function ends with %v: %d orders", outer, n)
			}
			must(t, tx.Rollback())
		}
	})
}

func TestDoTxRefusesRecheck(t *testing.T) {
	db, s := setup(t, "sqlite-modernc", nil)
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	op := op
	op.Recheck = func(context.Context, *sql.Tx, []byte) (bool, error) { return true, nil }
	if _, _, err := nebis.DoTx(t.Context(), s, tx, op, func(context.Context) (int, error) { return 1, nil }); err == nil {
		t.Error("taken")
	}
}

// A row that cannot be replayed is not asked about: what it stands for was done.
func TestRecheckIsAskedOnlyOfAnAnswerThatIsThere(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sql.DB, s *nebis.Store) {
		op, small := op, op
		small.MaxResponse = 1
		if _, _, err := nebis.Do(t.Context(), s, small, func(ctx context.Context, tx *sql.Tx) (string, error) { return "large", nil }); err != nil {
			t.Fatal(err)
		}
		_, err := db.Exec("CREATE UNIQUE INDEX old_index ON idempotency (idem_key, scope)")
		must(t, err)
		_, err = db.Exec("INSERT INTO idempotency (idem_key, scope, status, response) VALUES ('old', 's', 'done', '1')")
		must(t, err)
		for _, key := range []string{op.Key, "old"} {
			op.Key = key
			op.Recheck = func(context.Context, *sql.Tx, []byte) (bool, error) {
				t.Errorf("%s: asked", key)
				return false, nil
			}
			if _, _, err := nebis.Do(t.Context(), s, op, one); !errors.Is(err, nebis.ErrNotKept) {
				t.Errorf("%s: %v", key, err)
			}
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d orders", n)
		}
	})
}

func TestNoReplayFromTheTableWithoutItsRecheck(t *testing.T) {
	for _, name := range []string{"mariadb", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					s, _ := nebis.New(db, dbtest.Lookup(name).Dialect, &nebis.Options{Wait: []time.Duration{-1, 5 * time.Millisecond, -1}[i]})
					for range 200 {
						asked, op := false, op
						op.Recheck = func(context.Context, *sql.Tx, []byte) (bool, error) {
							asked = true
							time.Sleep(time.Millisecond)
							return true, nil
						}
						if _, replayed, _ := nebis.Do(t.Context(), s, op, one); replayed && !asked {
							t.Error("not asked")
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// With a rollback journal a reader stands in the writer's way.
func TestRetriesDoNotMakeFirstTriesFail(t *testing.T) {
	for _, name := range []string{"sqlite-modernc", "sqlite-mattn"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			db := c.Pool(t, strings.Split(c.Fresh(t), "?")[0]+"?_busy_timeout=0")
			createTables(t, db, c)
			s, err := nebis.New(db, c.Dialect, nil)
			must(t, err)
			if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			var ended atomic.Bool
			wg.Go(func() {
				for !ended.Load() {
					nebis.Do(t.Context(), s, op, one)
				}
			})
			failed := 0
			for i := range 200 {
				op := op
				op.Key = fmt.Sprint("new", i)
				if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil {
					failed++
				}
			}
			ended.Store(true)
			wg.Wait()
			if failed > 0 {
				t.Errorf("%d of 200 failed", failed)
			}
		})
	}
}

// The session's own limit to lock waits is eleven days, and the holder never lets
// go: a duplicate that waited for either would hang here.
func TestADuplicateOfAHeldAnswerWaitsNoLongerThanItsWait(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name).With("innodb_lock_wait_timeout=1000000")
			db := c.Open(t)
			createTables(t, db, c)
			s, err := nebis.New(db, c.Dialect, &nebis.Options{Wait: time.Second})
			must(t, err)
			if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil {
				t.Fatal(err)
			}
			tx, err := db.Begin()
			must(t, err)
			defer tx.Rollback()
			_, err = tx.Exec("SELECT id FROM idempotency WHERE idem_key = 'k' FOR UPDATE")
			must(t, err)
			// Nil: in the meantime the answer has become an old one, which needs no lock.
			if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil && !errors.Is(err, nebis.ErrInProgress) {
				t.Errorf("told %v", err)
			}
		})
	}
}

func TestAWaitOfMonthsIsNoError(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sql.DB, s *nebis.Store) {
		op := op
		op.Wait = 40 * 24 * time.Hour
		tx, err := db.Begin()
		must(t, err)
		if _, _, err := nebis.DoTx(t.Context(), s, tx, op, func(ctx context.Context) (int, error) { return one(ctx, tx) }); err != nil {
			t.Error(err)
		}
		must(t, tx.Commit())
		if _, replayed, err := nebis.Do(t.Context(), s, op, one); !replayed || err != nil {
			t.Error(replayed, err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

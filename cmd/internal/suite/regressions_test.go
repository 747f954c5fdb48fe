package suite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func setup(t *testing.T, name string, o *nebis.Options) (*sql.DB, *nebis.Store) {
	c := dbtest.Lookup(name)
	db := c.Open(t)
	createTables(t, db, c)
	s, err := nebis.New(db, c.Dialect, o)
	if err != nil {
		t.Fatal(err)
	}
	return db, s
}

func createTables(t *testing.T, db *sql.DB, c dbtest.Config) {
	ddl, _ := c.Dialect.Schema("")
	for _, q := range append(strings.Split(ddl, ";\n"), "CREATE TABLE o (n INTEGER)") {
		if strings.TrimSpace(q) != "" {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var op = nebis.Op{Scope: "s", Owner: "o", Key: "k"}

// 1. An expired key is taken over; while the function runs, a DoTx of the same
// key comes, in a transaction that has written more.
func TestATakeoverIsNotTheVictimOfADoTxOfTheSameKey(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			one := func(context.Context, *sql.Tx) (int, error) { return 1, nil }
			if _, _, err := nebis.Do(t.Context(), s, op, one); err != nil {
				t.Fatal(err)
			}
			db.Exec("UPDATE idempotency SET expires_at = '2001-01-01'")
			var wg sync.WaitGroup
			_, _, err := nebis.Do(t.Context(), s, op, func(ctx context.Context, tx *sql.Tx) (int, error) {
				wg.Go(func() {
					tx, err := db.Begin()
					if err != nil {
						t.Error(err)
						return
					}
					defer tx.Rollback()
					for range 50 {
						tx.Exec("INSERT INTO o VALUES (1)")
					}
					_, _, err = nebis.DoTx(context.Background(), s, tx, op, func(context.Context) (int, error) { return 2, nil })
					t.Log("the DoTx:", err)
				})
				for waiting := 0; waiting == 0; time.Sleep(200 * time.Millisecond) { // the server renews that table ten times a second
					if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&waiting); err != nil {
						return 0, err
					}
				}
				return 1, nil
			})
			wg.Wait()
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// 2 and 3. A store whose duplicates do not wait long still gives a commit its
// time, and what it could not ask it does not say.
func TestAShortWaitDoesNotShortenTheCommit(t *testing.T) {
	for _, name := range []string{"mariadb", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			dsn := c.Fresh(t)
			p := dbtest.NewProxy(t, c.Addr(t))
			db := c.Pool(t, c.Through(dsn, p.Addr))
			s, _ := nebis.New(db, c.Dialect, &nebis.Options{Wait: 20 * time.Millisecond, Unprepared: true})
			if _, err := s.Migrate(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			trap := p.Set(dbtest.Hold, func(b []byte) bool { return strings.Contains(string(b), "'done', response") })
			go func() { <-trap.Sprung(); time.Sleep(300 * time.Millisecond); trap.Release() }()
			_, _, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 1, nil })
			if errors.Is(err, nebis.ErrTxGone) {
				t.Errorf("said that the function lost its transaction: %v", err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// 4. Purge takes a connection and then the writer's turn, Do the turn and then a
// connection.
func TestPurgeAndDoDoNotWaitForEachOther(t *testing.T) {
	db, s := setup(t, "sqlite-modernc", &nebis.Options{Wait: 2 * time.Second})
	db.SetMaxOpenConns(1)
	var wg sync.WaitGroup
	_, _, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) {
		wg.Go(func() {
			if _, err := s.Purge(context.Background(), 10); err != nil {
				t.Error("Purge:", err)
			}
		})
		for i := 0; i < 200 && db.Stats().WaitCount == 0; i++ {
			time.Sleep(time.Millisecond)
		}
		wg.Go(func() {
			_, _, err := nebis.Do(context.Background(), s, nebis.Op{Scope: "s", Owner: "o", Key: "k2"}, func(context.Context, *sql.Tx) (int, error) { return 1, nil })
			if err != nil {
				t.Error("Do:", err)
			}
		})
		time.Sleep(100 * time.Millisecond) // it is in the queue
		return 1, nil
	})
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// 5. PostgreSQL, SERIALIZABLE: a save that is refused is no fault of the function's.
func TestASerializationFailureAtTheSaveIsNotALostTransaction(t *testing.T) {
	db, s := setup(t, "postgres-pgx", &nebis.Options{Isolation: sql.LevelSerializable})
	read := func(tx *sql.Tx) error { var n int; return tx.QueryRow("SELECT COUNT(*) FROM o").Scan(&n) }
	_, _, err := nebis.Do(t.Context(), s, op, func(ctx context.Context, tx *sql.Tx) (int, error) {
		if err := read(tx); err != nil {
			return 0, err
		}
		other, _ := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
		read(other)
		other.Exec("INSERT INTO o VALUES (2)")
		if _, err := tx.Exec("INSERT INTO o VALUES (1)"); err != nil {
			return 0, fmt.Errorf("insert: %w", err)
		}
		return 1, other.Commit()
	})
	t.Log(err)
	if errors.Is(err, nebis.ErrTxGone) || !errors.Is(err, nebis.ErrNotCommitted) {
		t.Error("want ErrNotCommitted alone")
	}
}

package worlds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestNoConnectionIsKeptHoweverTheFunctionEnds(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		w := newCrowd(t, c)
		for _, do := range []byte{sleep, fail, panics, exit, stop, sqlCommit, sqlBack, txCommit, txBack} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				endBy(w, do)
			}()
			<-done
			if n := w.dbs[0].Stats().InUse; n != 0 {
				t.Errorf("after %c: %d connections in use", do, n)
			}
		}
	})
}

// endBy does an operation whose function ends by one step of a script.
func endBy(w *crowd, do byte) {
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	op := nebis.Op{Scope: "order", Owner: "u1", Key: string(do)}
	_, _, _ = nebis.Do(ctx, w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (int, error) {
		f := function{&world{ground: &ground{}}, &run{rec: &record{plan: &callPlan{}}}, ctx, tx, cancel}
		return 1, f.step(step{do: do})
	})
}

// The wait is shorter than the others' patience, should they wait for nobody.
func TestWhenTheFirstFailsTheOthersDoNotWaitInVain(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		w := newCrowd(t, c)
		var wg sync.WaitGroup
		var runs atomic.Int32
		op := nebis.Op{Scope: "order", Owner: "u1", Key: "k", Wait: 5 * time.Second}
		for range 50 {
			wg.Go(func() {
				id, _, err := nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (int32, error) {
					if n := runs.Add(1); n > 3 {
						_, err := tx.ExecContext(ctx, "INSERT INTO orders (id, k) VALUES (1, 'k')")
						return n, err
					}
					return 0, errPlanned
				})
				if err != nil && !errors.Is(err, errPlanned) {
					t.Errorf("run %d, error %v", id, err)
				}
			})
		}
		wg.Wait()
		w.wantOrders(1)
	})
}

// Eight processes, so that seven wait in the database; on InnoDB most of them
// are victims of a deadlock when the first rolls back. No caller may hear of it.
func TestWhenTheFirstRollsBackNoErrorReachesTheOthers(t *testing.T) {
	for _, name := range []string{"mariadb", "mariadb-snapshot", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			w := newCrowd(t, c)
			stores := w.stores[:]
			for range 6 {
				s, err := nebis.New(w.dbs[len(stores)%2], c.Dialect, nil)
				must(t, err)
				stores = append(stores, s)
			}
			for round := range 10 {
				rollBackFirst(w, stores, fmt.Sprint("k", round))
				w.wantOrders(round + 1)
			}
		})
	}
}

func rollBackFirst(w *crowd, stores []*nebis.Store, key string) {
	var wg sync.WaitGroup
	var runs atomic.Int32
	for _, s := range stores {
		wg.Go(func() {
			_, _, err := nebis.Do(w.Context(), s, nebis.Op{Scope: "order", Owner: "u1", Key: key}, func(ctx context.Context, tx *sql.Tx) (int64, error) {
				id := w.nextID.Add(1)
				_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id, k) VALUES (%d, '%s')", id, key))
				if runs.Add(1) == 1 {
					time.Sleep(30 * time.Millisecond) // the others come to wait
					err = errors.Join(err, errPlanned)
				}
				return id, err
			})
			if err != nil && !errors.Is(err, errPlanned) {
				w.Error(err)
			}
		})
	}
	wg.Wait()
	if n := runs.Load(); n != 2 {
		w.Errorf("%d runs, want the one that failed and one more", n)
	}
}

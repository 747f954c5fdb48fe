package worlds

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A crowd is two processes with pools of 10 on one database.
type crowd struct {
	*testing.T

	// Keys of their own are claimed at once, or not at all. MySQL proper cannot
	// keep them from waiting behind the first try of a slow key's duplicate.
	unhindered bool

	dbs    [2]*sql.DB
	stores [2]*nebis.Store
	nextID atomic.Int64
}

func newCrowd(t *testing.T, c dbtest.Config) *crowd {
	dsn := c.Fresh(t)
	return connect(t, c, [2]string{dsn, dsn}, nil)
}

func connect(t *testing.T, c dbtest.Config, dsns [2]string, o *nebis.Options) *crowd {
	w := &crowd{T: t}
	for i, dsn := range dsns {
		w.dbs[i] = c.Pool(t, dsn)
		w.dbs[i].SetMaxOpenConns(10)
		var err error
		w.stores[i], err = nebis.New(w.dbs[i], c.Dialect, o)
		must(t, err)
	}
	_, err := w.stores[1].Migrate(t.Context(), false)
	must(t, err)
	_, err = w.dbs[1].ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY, k VARCHAR(20) NOT NULL)")
	must(t, err)
	return w
}

// place does the operation, waiting inside the function, with the order
// written, until finish is closed; started is told.
func (w *crowd) place(store int, key string, started func(), finish <-chan struct{}) (int64, bool, error) {
	op := nebis.Op{Scope: "order", Owner: "u1", Key: key}
	switch {
	case strings.HasPrefix(key, "slow"):
		op.Wait = time.Minute
	case w.unhindered:
		op.Wait = -1
	}
	return nebis.Do(w.Context(), w.stores[store], op, func(ctx context.Context, tx *sql.Tx) (int64, error) {
		id := w.nextID.Add(1)
		_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id, k) VALUES (%d, '%s')", id, key))
		started()
		<-finish
		return id, err
	})
}

func (w *crowd) wantOrders(want int) {
	w.Helper()
	var n, keys int
	if err := w.dbs[1].QueryRow("SELECT COUNT(*), COUNT(DISTINCT k) FROM orders").Scan(&n, &keys); err != nil || n != want || keys != want {
		w.Errorf("%d orders of %d keys, error %v; want %d", n, keys, err, want)
	}
}

func crowded(t *testing.T, test func(*testing.T, dbtest.Config)) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "sqlite-modernc"} {
		t.Run(name, func(t *testing.T) { test(t, dbtest.Lookup(name)) })
	}
}

// While the one function runs, all the others wait without a connection, so
// that the pool is free for other work.
func TestAThousandDuplicatesOfOneSlowKeyEndWithOneOrderAndAllAreAnswered(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		const senders = 1000
		w := newCrowd(t, c)
		finish, started := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		var called, first, replays atomic.Int32
		send := func() {
			called.Add(1)
			id, replayed, err := w.place(0, "slow", func() { close(started) }, finish)
			switch {
			case err != nil || id != 1:
				t.Errorf("order %d, error %v", id, err)
			case replayed:
				replays.Add(1)
			default:
				first.Add(1)
			}
		}
		wg.Go(send)
		<-started
		for range senders - 1 {
			wg.Go(send)
		}
		if !eventually(func() bool { return called.Load() == senders && w.dbs[0].Stats().InUse == 1 }) {
			t.Errorf("%d connections in use while all but one wait", w.dbs[0].Stats().InUse)
		}
		close(finish)
		wg.Wait()
		if first.Load() != 1 || replays.Load() != senders-1 {
			t.Errorf("%d first answers, %d replays", first.Load(), replays.Load())
		}
		w.wantOrders(1)
	})
}

// As many slow keys are held as leave a pool of 10 some connections for those
// that wait in the database and some for others. Their end is not awaited by
// the unrelated keys.
func TestOtherKeysAreDoneWhileManyDuplicatesOfSlowKeysWait(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		if c.Kind == dbtest.SQLite {
			t.Skip("one writer: nothing is done beside a slow transaction")
		}
		const slow, duplicates, others = 4, 20, 20
		w := newCrowd(t, c)
		w.unhindered = c.Kind != dbtest.MySQL
		finish, at := make(chan struct{}), make(chan struct{})
		close(at)
		var wg, running sync.WaitGroup
		for k := range slow {
			key := fmt.Sprint("slow", k)
			running.Add(1)
			wg.Go(func() { w.answered(w.place(0, key, running.Done, finish)) })
		}
		running.Wait()
		for n := range slow * duplicates * 2 {
			wg.Go(func() { w.answered(w.place(n%2, fmt.Sprint("slow", n/2%slow), func() {}, finish)) })
		}
		for n := 0; n < others*2 && !t.Failed(); n++ {
			w.answered(w.place(n%2, fmt.Sprint("other", n), func() {}, at))
		}
		close(finish)
		wg.Wait()
		w.wantOrders(slow + others*2)
	})
}

func (w *crowd) answered(id int64, _ bool, err error) {
	w.Helper()
	if err != nil {
		w.Errorf("order %d, error %v", id, err)
	}
}

// Package nebistest is the conformance suite of nebis: what has to hold on a
// database, through a driver, with its settings, for Do and DoTx to keep their
// promise. Run it against any database that the project itself has not met.
package nebistest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

// Run runs the suite as subtests of t. open returns a new pool on one and the
// same database with every call, and closes it when its test ends; two pools
// stand for two processes. The user must be allowed to create tables; the suite
// removes the ones it makes.
func Run(t *testing.T, d nebis.Dialect, open func(testing.TB) *sql.DB) {
	for _, c := range cases {
		if c.only != 0 && c.only != d {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(newWorld(t, d, open)) })
	}
}

type testCase struct {
	name string
	only nebis.Dialect // 0: all
	run  func(*world)
}

var cases []testCase

func register(cs ...testCase) bool {
	cases = append(cases, cs...)
	return true
}

// A world is one key table and one table of orders, with two pools on them.
type world struct {
	*testing.T
	d      nebis.Dialect
	dbs    [2]*sql.DB
	stores [2]*nebis.Store
	keys   string // name of the key table
	orders string // name of the order table
}

func newWorld(t *testing.T, d nebis.Dialect, open func(testing.TB) *sql.DB) *world {
	id := strings.ToLower(rand.Text()[:10])
	w := &world{T: t, d: d, keys: "nt_" + id, orders: "nt_" + id + "_orders"}
	for i := range w.dbs {
		w.dbs[i] = open(t)
	}
	ddl, err := d.Schema(w.keys)
	w.must(err)
	for _, q := range strings.Split(ddl, ";\n") {
		if strings.TrimSpace(q) != "" {
			w.exec(q)
		}
	}
	w.exec("CREATE TABLE " + w.orders + " (id INTEGER NOT NULL PRIMARY KEY, item VARCHAR(64) NOT NULL)")
	t.Cleanup(func() {
		for _, table := range []string{w.keys, w.orders} {
			w.dbs[0].Exec("DROP TABLE " + table)
		}
	})
	w.use(nebis.Options{})
	return w
}

// use makes the two stores anew with these options. MySQL proper notices a
// transaction that was ended by hand with Strict only.
func (w *world) use(o nebis.Options) {
	w.Helper()
	o.Table, o.Strict = w.keys, true
	for i, db := range w.dbs {
		s, err := nebis.New(db, w.d, &o)
		w.must(err)
		w.stores[i] = s
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(q string, args ...any) {
	w.Helper()
	_, err := w.dbs[0].Exec(q, args...)
	w.must(err)
}

func (w *world) count(table string) int {
	w.Helper()
	var n int
	w.must(w.dbs[1].QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n))
	return n
}

func (w *world) wantOrders(n int) {
	w.Helper()
	if got := w.count(w.orders); got != n {
		w.Errorf("%d orders, want %d", got, n)
	}
}

// expire makes every row of the key table old.
func (w *world) expire() {
	w.Helper()
	w.exec("UPDATE " + w.keys + " SET expires_at = '2001-01-01 00:00:00'")
}

func (w *world) op(key string) nebis.Op {
	return nebis.Op{Scope: "order", Owner: "user-1", Key: key}
}

// An Order is what the suite's function writes and returns.
type Order struct {
	ID   int
	Item string
}

var nextID struct {
	sync.Mutex
	n int
}

func newID() int {
	nextID.Lock()
	defer nextID.Unlock()
	nextID.n++
	return nextID.n
}

// execer is a *sql.Tx, *sql.Conn or *sql.DB.
type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// place writes one order.
func (w *world) place(ctx context.Context, x execer, item string) (Order, error) {
	o := Order{newID(), item}
	_, err := x.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (id, item) VALUES (%d, '%s')", w.orders, o.ID, item))
	return o, err
}

// do places one order through the i-th store.
func (w *world) do(i int, op nebis.Op) (Order, bool, error) {
	return nebis.Do(w.Context(), w.stores[i], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
		return w.place(ctx, tx, "tea")
	})
}

// wantReplay checks that the key is done and replays the order.
func (w *world) wantReplay(op nebis.Op, first Order) {
	w.Helper()
	for i := range w.stores {
		got, replayed, err := w.do(i, op)
		if err != nil || !replayed || got != first {
			w.Errorf("store %d: got %v, replayed %v, error %v; want the replay of %v", i, got, replayed, err, first)
		}
	}
}

// wantFree checks that the key can be used for the first time.
func (w *world) wantFree(op nebis.Op) {
	w.Helper()
	if _, replayed, err := w.do(1, op); err != nil || replayed {
		w.Errorf("replayed %v, error %v; want the key to be free", replayed, err)
	}
}

// together calls f n times at once, with the index of a store to use.
func (w *world) together(n int, f func(n, store int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i, i%len(w.stores))
		})
	}
	close(start)
	wg.Wait()
}

// insist calls Do until its answer is final: the errors that say "call again"
// are what a client under load may meet.
func insist[T any](f func() (T, bool, error)) (T, bool, error) {
	for {
		v, replayed, err := f()
		if !again(err) {
			return v, replayed, err
		}
		time.Sleep(time.Millisecond)
	}
}

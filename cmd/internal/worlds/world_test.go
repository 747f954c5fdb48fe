package worlds

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
)

// A ground is the database that the worlds of one product are played on, one
// after the other.
type ground struct {
	p     product
	dsns  []string // by variant
	admin *sql.DB  // looks, and expires keys
	tally tally

	settings []string // of a new connection, by variant
}

func newGround(t *testing.T, p product) *ground {
	g := &ground{p: p, dsns: p.fresh(t)}
	g.admin = p.variants[0].Pool(t, g.dsns[0])
	g.admin.SetMaxIdleConns(1) // so that the number of goroutines is steady
	ddl, err := p.dialect.Schema("")
	if err != nil {
		t.Fatal(err)
	}
	statements := strings.Split(ddl, ";\n")
	statements = append(statements,
		"CREATE TABLE orders (id VARCHAR(80) NOT NULL PRIMARY KEY, k INTEGER NOT NULL, began VARCHAR(40), expires VARCHAR(40))",
		"CREATE TABLE stock (id INTEGER NOT NULL PRIMARY KEY, n INTEGER NOT NULL)",
		"INSERT INTO stock (id, n) VALUES (1, 0), (2, 0), (3, 0)",
		byHand(sqlDDL))
	for _, q := range statements {
		if strings.TrimSpace(q) == "" {
			continue
		}
		if _, err := g.admin.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	g.ask(t)
	return g
}

// ask learns the settings of a new connection of each variant.
func (g *ground) ask(t *testing.T) {
	for i, dsn := range g.dsns {
		db, err := sql.Open(g.p.variants[i].Driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s, err := settings(t.Context(), conn, g.p)
		if err != nil {
			t.Fatal(err)
		}
		g.settings = append(g.settings, s)
	}
}

// A world is a plan being played.
type world struct {
	*ground
	plan   plan
	dbs    []*sql.DB
	stores []*nebis.Store

	clock      atomic.Int64 // orders what happens
	goroutines int          // before

	mu      sync.Mutex
	records []*record
	opened  []int // by key: how often it was expired, freed or let run again
	wrong   []string
}

// play plays one world and reports what was wrong.
func (g *ground) play(t *testing.T, p plan) []string {
	w := &world{ground: g, plan: p, opened: make([]int, len(p.keys))}
	for _, table := range []string{"orders", "idempotency"} {
		if _, err := g.admin.Exec("DELETE FROM " + table); err != nil {
			t.Fatal(err)
		}
	}
	w.goroutines = runtime.NumGoroutine()
	w.open(t)
	w.age()
	done := make(chan struct{})
	go func() { defer close(done); w.run() }()
	select {
	case <-done:
	case <-time.After(stuck):
		t.Fatalf("seed %d: the world does not end\n%s\n%s", p.seed, p.lines(), stacks())
	}
	w.checkPools()
	w.check()
	w.last()
	w.checkSessions()
	for _, db := range w.dbs {
		db.Close()
	}
	w.checkGoroutines()
	g.tally.add(w)
	return w.wrong
}

// stuck is when a world is given up. Worlds take a second or two.
const stuck = 2 * time.Minute

// open makes a pool and a store for each process.
func (w *world) open(t *testing.T) {
	for _, s := range w.plan.stores {
		db, err := sql.Open(w.p.variants[s.variant].Driver, w.dsns[s.variant])
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(s.conns)
		db.SetMaxIdleConns(s.conns)
		o := s.o
		o.Observe = observe
		store, err := nebis.New(db, w.p.dialect, &o)
		if err != nil {
			t.Fatal(err)
		}
		w.dbs, w.stores = append(w.dbs, db), append(w.stores, store)
	}
}

// age does the keys that are to be old, and expires them.
func (w *world) age() {
	for key, k := range w.plan.keys {
		if k.old {
			w.attempt(&callPlan{key: key, script: script{{write, 0}}}, fmt.Sprint("old.", key))
			w.expire(key, "expires_at = '2001-01-01 00:00:00'", "")
		}
	}
}

// run lets all calls, and what goes on beside them, start together.
func (w *world) run() {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range w.plan.calls {
		wg.Go(func() { <-start; w.call(i, &w.plan.calls[i]) })
	}
	for i := range w.plan.beside {
		wg.Go(func() { <-start; w.besides(&w.plan.beside[i]) })
	}
	close(start)
	wg.Wait()
}

func (w *world) tick() int64 { return w.clock.Add(1) }

func (w *world) wrongf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// reopened counts what allows one more order of a key.
func (w *world) reopened(key int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened[key]++
}

// besides plays what goes on beside the calls.
func (w *world) besides(b *besidePlan) {
	for range b.times {
		time.Sleep(b.after)
		switch b.what {
		case 'e':
			w.expire(b.key, "expires_at = '2001-01-01 00:00:00'", "")
		case 'f':
			w.expire(b.key, "status = 'failed'", " AND status = 'done'")
		case 'p':
			if _, err := w.stores[b.store].Purge(context.Background(), b.limit); err != nil {
				w.tally.count("purge: " + reason(err))
			}
		}
	}
}

func (w *world) expire(key int, set, and string) {
	res, err := w.admin.Exec("UPDATE idempotency SET " + set + " WHERE " + w.where(key) + and)
	if err == nil {
		if n, _ := res.RowsAffected(); n == 0 {
			return
		}
	}
	w.reopened(key)
}

// where finds the row of a key.
func (w *world) where(key int) string {
	op := w.plan.keys[key].op
	owner := op.Owner
	if owner == nebis.Anyone {
		owner = "*"
	}
	return fmt.Sprintf("idem_key = '%s' AND scope = '%s' AND owner = '%s'", op.Key, op.Scope, owner)
}

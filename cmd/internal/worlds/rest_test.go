package worlds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nebis-dev/nebis"
)

// What has to be true when a world has come to rest.

// patience bounds each wait for something that must come by itself.
const patience = 20 * time.Second

func eventually(f func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if f() {
			return true
		}
	}
	return f()
}

// checkPools: no connection is in use.
func (w *world) checkPools() {
	for i, db := range w.dbs {
		if !eventually(func() bool { return db.Stats().InUse == 0 }) {
			w.wrongf("store %d: %d connections are still in use", i, db.Stats().InUse)
		}
	}
}

// checkGoroutines: as many as before. Drivers may need a moment to close what
// was cut off.
func (w *world) checkGoroutines() {
	if !eventually(func() bool { return runtime.NumGoroutine() <= w.goroutines }) {
		w.wrongf("%d goroutines before, %d after\n%s", w.goroutines, runtime.NumGoroutine(), stacks())
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// last does every key once more through every store. Nothing else goes on, so
// each call must have the final answer, without being told to wait.
func (w *world) last() {
	if len(w.wrong) > 0 {
		return
	}
	for key, k := range w.plan.keys {
		var first answer
		for i := range w.stores {
			rec := w.attempt(&callPlan{store: i, key: key, wait: 10 * time.Second, script: script{{write, 0}}}, fmt.Sprintf("last.%d.%d", key, i))
			if why := w.final(rec); why != "" {
				w.wrongf("the last call of key %d through store %d: replayed %v, error %v: %s", key, i, rec.replayed, rec.err, why)
			}
			if i == 0 {
				first = rec.got
			} else if rec.got != first && rec.err == nil && !k.fleeting() {
				w.wrongf("the last call of key %d: %+v through store 0, %+v through store %d", key, first, rec.got, i)
			}
		}
	}
	w.check()
}

func (w *world) final(rec *record) string {
	j := judge{world: w, runs: map[string]*run{}}
	for _, r := range w.records {
		if r.run != nil {
			j.runs[r.run.id] = r.run
		}
	}
	switch {
	case rec.err == nil:
		return ""
	case errors.Is(rec.err, nebis.ErrNotKept) && w.plan.keys[rec.key].forgetful():
		return ""
	case errors.Is(rec.err, nebis.ErrUnknown) && errors.Is(rec.err, nebis.ErrTxGone) && j.handed(rec.key):
		return ""
	}
	return "not a final answer"
}

// checkSessions: every connection that is in a pool commits a plain statement at
// once, and has the settings that a new one has.
func (w *world) checkSessions() {
	want := 0
	for i, db := range w.dbs {
		n := db.Stats().OpenConnections
		want += n
		held := make([]*sql.Conn, n)
		for c := range held {
			var err error
			if held[c], err = db.Conn(context.Background()); err != nil {
				w.wrongf("store %d: %v", i, err)
				return
			}
			defer held[c].Close()
			w.checkSession(held[c], i, c)
		}
	}
	var got int
	if err := w.admin.QueryRow("SELECT COUNT(*) FROM orders WHERE k = -2").Scan(&got); err != nil || got != want {
		w.wrongf("of %d plain inserts through the pools %d are committed, error %v", want, got, err)
	}
}

func (w *world) checkSession(conn *sql.Conn, store, n int) {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id, k) VALUES ('plain/%d/%d', -2)", store, n)); err != nil {
		w.wrongf("store %d: a plain insert: %v", store, err)
	}
	got, err := settings(ctx, conn, w.p)
	if want := w.settings[w.plan.stores[store].variant]; err != nil || got != want {
		w.wrongf("store %d: a connection with settings %q, new ones have %q, error %v", store, got, want, err)
	}
}

// settings asks for what a store sets for the length of a claim.
func settings(ctx context.Context, conn *sql.Conn, p product) (s string, err error) {
	err = conn.QueryRowContext(ctx, map[nebis.Dialect]string{
		nebis.MySQL:    "SELECT CONCAT_WS(' ', @@autocommit, @@innodb_lock_wait_timeout, @@tx_isolation)",
		nebis.Postgres: "SELECT current_setting('lock_timeout') || ' ' || current_setting('transaction_isolation')",
		nebis.SQLite:   "SELECT ''",
	}[p.dialect]).Scan(&s)
	return s, err
}

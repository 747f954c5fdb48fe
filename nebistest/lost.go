package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/nebis-dev/nebis"
)

// Functions that lose their transaction. None may be reported as a success.

var _ = register(
	testCase{"Do/notices a COMMIT by hand", 0, func(w *world) { testEndedByHand(w, "COMMIT", 1) }},
	testCase{"Do/notices a ROLLBACK by hand", 0, func(w *world) { testEndedByHand(w, "ROLLBACK", 0) }},
	testCase{"Do/notices Commit and Rollback of the transaction", 0, testTxMethods},
	testCase{"Do/notices DDL that commits", nebis.MySQL, testDDL},
	testCase{"Do/DDL inside is fine where it does not commit", nebis.Postgres, testHarmlessDDL},
	testCase{"Do/notices a swallowed deadlock, and nothing of it stays", nebis.MySQL, testSwallowedDeadlock},
	testCase{"Do/notices a swallowed error that aborted the transaction", nebis.Postgres, testSwallowedError},
	testCase{"Do/gives its connections back as they were", 0, testConnectionsClean},
	testCase{"Do/the business statements keep the session's lock time-out", 0, testTimeoutKept},
	testCase{"Do/Conn is the transaction's connection", 0, testConn},
	testCase{"Do/a Do of the same key inside is an error", 0, testNested},
	testCase{"Tx/commits, rolls back, and has no memory", 0, testPlainTx},
)

func (w *world) doSQL(key string, statements ...string) error {
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op(key), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		o, err := w.place(ctx, tx, "tea")
		if err != nil {
			return o, err
		}
		for _, q := range statements {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return o, fmt.Errorf("%s: %w", q, err)
			}
		}
		return o, nil
	})
	return err
}

// After a COMMIT by hand what was written stays and the outcome of the key is
// unknown; after a ROLLBACK nothing stays and the key is free.
func testEndedByHand(w *world, end string, stays int) {
	err := w.doSQL("k", end)
	if !errors.Is(err, nebis.ErrTxGone) {
		w.Errorf("error %v, want ErrTxGone", err)
	}
	w.wantOrders(stays)
	if stays > 0 {
		w.wantUnknown(w.op("k"))
		w.wantOrders(stays)
		return
	}
	w.wantFree(w.op("k"))
}

func (w *world) wantUnknown(op nebis.Op) {
	w.Helper()
	for i := range w.stores {
		if _, _, err := w.do(i, op); !errors.Is(err, nebis.ErrUnknown) {
			w.Errorf("store %d: error %v, want ErrUnknown", i, err)
		}
	}
}

func testTxMethods(w *world) {
	for key, end := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
		for _, result := range []error{nil, errFirst} {
			op := w.op(fmt.Sprint(key, "-", result == nil))
			_, _, err := nebis.Do(w.Context(), w.stores[0], op, func(ctx context.Context, tx *sql.Tx) (Order, error) {
				o, err := w.place(ctx, tx, "tea")
				w.must(err)
				w.must(end(tx))
				return o, result
			})
			if !errors.Is(err, nebis.ErrTxGone) || !errors.Is(err, result) && result != nil {
				w.Errorf("%s, function returned %v: error %v, want ErrTxGone", key, result, err)
			}
			if key == "commit" {
				w.wantUnknown(op)
			}
		}
	}
	w.wantOrders(2)
}

func testDDL(w *world) {
	err := w.doSQL("k", "CREATE TABLE "+w.orders+"_2 (id INTEGER)", "DROP TABLE "+w.orders+"_2")
	if !errors.Is(err, nebis.ErrTxGone) {
		w.Errorf("error %v, want ErrTxGone", err)
	}
	w.wantUnknown(w.op("k"))
	w.wantOrders(1)
}

func testHarmlessDDL(w *world) {
	w.must(w.doSQL("k", "CREATE TABLE "+w.orders+"_2 (id INTEGER)", "DROP TABLE "+w.orders+"_2"))
	w.wantOrders(1)
}

// Two transactions update two rows in opposite order; the one in Do, which has
// written less, is the victim. It swallows the error and goes on writing.
func testSwallowedDeadlock(w *world) {
	for id := 1; id <= 30; id++ {
		w.exec(fmt.Sprintf("INSERT INTO %s (id, item) VALUES (%d, 'old')", w.orders, -id))
	}
	update := func(x execer, id int) error {
		_, err := x.ExecContext(w.Context(), fmt.Sprintf("UPDATE %s SET item = 'new' WHERE id = %d", w.orders, -id))
		return err
	}
	rival, err := w.dbs[1].Begin()
	w.must(err)
	defer rival.Rollback()
	for id := 2; id <= 30; id++ { // the heavier one
		w.must(update(rival, id))
	}
	var wg sync.WaitGroup
	swallowed := false
	_, _, err = nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		w.must(update(tx, 1))
		wg.Go(func() { w.check(update(rival, 1)) })
		for update(tx, 2) == nil { // waits for the rival, until one of the two is the victim
			return Order{}, errors.New("no deadlock")
		}
		swallowed = true
		return w.place(ctx, tx, "after the deadlock")
	})
	wg.Wait()
	w.must(rival.Rollback())
	if !swallowed || !errors.Is(err, nebis.ErrTxGone) {
		w.Errorf("swallowed %v, error %v; want ErrTxGone", swallowed, err)
	}
	if w.mariadb() {
		w.wantOrders(30)
	}
	w.wantFree(w.op("k"))
}

// mariadb reports whether the server can keep writes after a lost transaction
// from becoming permanent. MySQL proper cannot at the same price.
func (w *world) mariadb() bool {
	var version string
	w.must(w.dbs[0].QueryRow("SELECT VERSION()").Scan(&version))
	return containsFold(version, "mariadb")
}

func testSwallowedError(w *world) {
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		o, err := w.place(ctx, tx, "tea")
		w.must(err)
		tx.ExecContext(ctx, "SELECT 1/0")
		return o, nil
	})
	if !errors.Is(err, nebis.ErrTxGone) || !errors.Is(err, nebis.ErrNotCommitted) {
		w.Errorf("error %v, want ErrTxGone and ErrNotCommitted", err)
	}
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

// After every way to end, a statement on a connection of the pool commits at
// once and sees no transaction.
func testConnectionsClean(w *world) {
	w.dbs[0].SetMaxOpenConns(1)
	ends := map[string]func(){
		"success":  func() { w.must(w.doSQL("a")) },
		"replay":   func() { w.must(w.doSQL("a")) },
		"error":    func() { w.doSQL("b", "no SQL") },
		"commit":   func() { w.doSQL("c", "COMMIT") },
		"rollback": func() { w.doSQL("d", "ROLLBACK") },
		"panic": func() {
			defer func() { recover() }()
			nebis.Do(w.Context(), w.stores[0], w.op("e"), func(context.Context, *sql.Tx) (int, error) { panic("oh") })
		},
		"cancel": func() {
			ctx, cancel := context.WithCancel(w.Context())
			nebis.Do(ctx, w.stores[0], w.op("f"), func(context.Context, *sql.Tx) (int, error) { cancel(); return 0, nil })
		},
	}
	for name, end := range ends {
		end()
		before := w.count(w.orders) // by the other pool
		w.exec(fmt.Sprintf("INSERT INTO %s (id, item) VALUES (%d, 'plain')", w.orders, newID()))
		if got := w.count(w.orders); got != before+1 {
			w.Errorf("after %s: a plain insert is not committed", name)
		}
	}
}

func testTimeoutKept(w *world) {
	ask := map[nebis.Dialect]string{
		nebis.MySQL:    "SELECT @@innodb_lock_wait_timeout",
		nebis.Postgres: "SELECT current_setting('lock_timeout')",
		nebis.SQLite:   "SELECT 1",
	}[w.d]
	w.dbs[0].SetMaxOpenConns(1)
	var before, inside, after string
	w.must(w.dbs[0].QueryRow(ask).Scan(&before))
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (int, error) {
		return 0, tx.QueryRowContext(ctx, ask).Scan(&inside)
	})
	w.must(err)
	w.must(w.dbs[0].QueryRow(ask).Scan(&after))
	if inside != before || after != before {
		w.Errorf("lock time-out %s before, %s inside, %s after", before, inside, after)
	}
}

func testConn(w *world) {
	if _, ok := nebis.Conn(w.Context()); ok {
		w.Error("a connection outside of Do")
	}
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		conn, ok := nebis.Conn(ctx)
		if !ok {
			return Order{}, errors.New("no connection")
		}
		w.must(conn.Raw(func(driver any) error {
			if driver == nil {
				return errors.New("no driver")
			}
			return nil
		}))
		if _, err := w.place(ctx, conn, "tea"); err != nil {
			return Order{}, err
		}
		return Order{}, errFirst
	})
	if err != errFirst {
		w.Error(err)
	}
	w.wantOrders(0) // it was part of the transaction
}

func testNested(w *world) {
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		_, _, err := nebis.Do(ctx, w.stores[0], w.op("k"), func(context.Context, *sql.Tx) (Order, error) { return Order{}, nil })
		if err == nil {
			w.Error("no error from a Do of the same key inside")
		}
		return w.nested(ctx, tx)
	})
	w.must(err)
	w.wantOrders(1)
}

// nested does another key in the same transaction.
func (w *world) nested(ctx context.Context, tx *sql.Tx) (Order, error) {
	o, _, err := nebis.DoTx(ctx, w.stores[0], tx, w.op("inner"), func(ctx context.Context) (Order, error) {
		return w.place(ctx, tx, "tea")
	})
	return o, err
}

func testPlainTx(w *world) {
	for _, result := range []error{nil, nil, errFirst} {
		err := w.stores[0].Tx(w.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, ok := nebis.Conn(ctx); !ok {
				w.Error("no connection")
			}
			_, err := w.place(ctx, tx, "tea")
			w.must(err)
			return result
		})
		if err != result {
			w.Errorf("error %v, want %v", err, result)
		}
	}
	w.wantOrders(2)
	if n := w.count(w.keys); n != 0 {
		w.Errorf("%d rows in the key table", n)
	}
}

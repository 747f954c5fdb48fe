package nebistest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"Do/runs once and replays", 0, testOnce},
	testCase{"Do/two processes with 50 duplicates each execute once", 0, testTwoProcesses},
	testCase{"Do/three duplicates, the first rolls back, another executes", 0, testFirstRollsBack},
	testCase{"Do/400 keys with duplicates that arrive as the first ends", 0, testAsTheFirstEnds},
	testCase{"Do/keeps keys apart byte by byte", 0, testKeysApart},
	testCase{"Do/keeps scopes and owners apart", 0, testOwnersApart},
	testCase{"Do/refuses malformed operations before any SQL", 0, testMalformed},
	testCase{"Do/forgets an error", 0, testForgetsError},
	testCase{"Do/forgets a panic", 0, testForgetsPanic},
	testCase{"Do/forgets a Goexit", 0, testForgetsGoexit},
	testCase{"Do/forgets a cancelled run", 0, testForgetsCancel},
	testCase{"Do/a result that cannot be encoded rolls back", 0, testUnencodable},
)

func testOnce(w *world) {
	first, replayed, err := w.do(0, w.op("k"))
	if err != nil || replayed {
		w.Fatalf("replayed %v, error %v", replayed, err)
	}
	w.wantReplay(w.op("k"), first)
	w.wantOrders(1)
}

func testTwoProcesses(w *world) {
	var mu sync.Mutex
	answers := map[Order]int{}
	w.together(100, func(_, store int) {
		o, _, err := insist(func() (Order, bool, error) { return w.do(store, w.op("k")) })
		if err != nil {
			w.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		answers[o]++
	})
	if len(answers) != 1 {
		w.Errorf("answers %v, want one", answers)
	}
	w.wantOrders(1)
}

// Three pools would be three processes; on InnoDB, two with one connection more
// are enough for the deadlock, as the memory of each store lets one through.
func testFirstRollsBack(w *world) {
	third, err := nebis.New(w.dbs[1], w.d, &nebis.Options{Table: w.keys, Strict: true})
	w.must(err)
	stores := []*nebis.Store{w.stores[0], w.stores[1], third}
	for round := range 10 {
		var tries atomic.Int32
		w.together(len(stores), func(n, _ int) {
			_, _, err := insist(func() (Order, bool, error) {
				return nebis.Do(w.Context(), stores[n], w.op(fmt.Sprint("k", round)), func(ctx context.Context, tx *sql.Tx) (Order, error) {
					o, err := w.place(ctx, tx, "tea")
					if err == nil && tries.Add(1) == 1 {
						err = errFirst
					}
					return o, err
				})
			})
			if err != nil && err != errFirst {
				w.Error(err)
			}
		})
		w.wantOrders(round + 1)
	}
}

var errFirst = errors.New("the first rolls back")

func testAsTheFirstEnds(w *world) {
	const keys, senders = 400, 8
	w.together(senders, func(_, store int) {
		for k := range keys {
			if _, _, err := insist(func() (Order, bool, error) { return w.do(store, w.op(fmt.Sprint("k", k))) }); err != nil {
				w.Error(err)
			}
		}
	})
	w.wantOrders(keys)
}

func testKeysApart(w *world) {
	long := strings.Repeat("k", 255)
	keys := []string{"ABC", "abc", "aBC", "k", "k.", "'", `"`, `\`, "%", "_", "?", "$1", "--", ";", long, long[:254], long[:254] + "K"}
	for _, k := range keys {
		if _, replayed, err := w.do(0, w.op(k)); err != nil || replayed {
			w.Errorf("key %.10q…: replayed %v, error %v", k, replayed, err)
		}
	}
	w.wantOrders(len(keys))
}

func testOwnersApart(w *world) {
	ops := []nebis.Op{
		{Scope: "order", Owner: "a", Key: "k"},
		{Scope: "order", Owner: "A", Key: "k"},
		{Scope: "refund", Owner: "a", Key: "k"},
		{Scope: "order", Owner: nebis.Anyone, Key: "k"},
		{Scope: "order", Owner: "*", Key: "k"}, // what the table says for Anyone
		{Scope: "order", Owner: "张三 ", Key: "k"},
		{Scope: "order", Owner: "张三", Key: "k"},
		{Scope: "order", Owner: strings.Repeat("o", 128), Key: "k"},
		{Scope: "order", Owner: strings.Repeat("o", 129), Key: "k"},
	}
	for _, op := range ops {
		first, replayed, err := w.do(0, op)
		if err != nil || replayed {
			w.Errorf("%s for %.10q: replayed %v, error %v", op.Scope, op.Owner, replayed, err)
		}
		defer w.wantReplay(op, first)
	}
	w.wantOrders(len(ops))
}

func testMalformed(w *world) {
	w.exec("DROP TABLE " + w.keys) // whatever reaches the database fails there
	for _, op := range []nebis.Op{
		{}, {Scope: "s", Owner: "o"}, {Scope: "s", Key: "k"}, {Owner: "o", Key: "k"},
		w.op(strings.Repeat("k", 256)), w.op(strings.Repeat("k", 10_000)),
		w.op("a b"), w.op("a\n"), w.op("\x00"), w.op("\x7f"), w.op("é"),
		{Scope: strings.Repeat("s", 65), Owner: "o", Key: "k"},
		{Scope: "s", Owner: "o", Key: "k", Keep: -1},
		{Scope: "s", Owner: "o", Key: "k", Fingerprint: nebis.Digest(make(chan int))},
	} {
		if _, _, err := w.do(0, op); !errors.Is(err, nebis.ErrKey) {
			w.Errorf("%+.60v: error %v, want ErrKey", op, err)
		}
	}
}

func testForgetsError(w *world) {
	want := errors.New("no")
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		_, err := w.place(ctx, tx, "tea")
		w.must(err)
		return Order{}, want
	})
	if err != want {
		w.Errorf("error %v, want the function's own", err)
	}
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

func testForgetsPanic(w *world) {
	func() {
		defer func() {
			if r := recover(); r != "oh" {
				w.Errorf("recovered %v", r)
			}
		}()
		nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
			_, err := w.place(ctx, tx, "tea")
			w.must(err)
			panic("oh")
		})
	}()
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

func testForgetsGoexit(w *world) {
	var wg sync.WaitGroup
	wg.Go(func() {
		nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
			_, err := w.place(ctx, tx, "tea")
			w.check(err)
			runtime.Goexit()
			return Order{}, nil
		})
	})
	wg.Wait()
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

func testForgetsCancel(w *world) {
	ctx, cancel := context.WithCancel(w.Context())
	_, _, err := nebis.Do(ctx, w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (Order, error) {
		o, err := w.place(ctx, tx, "tea")
		cancel()
		return o, err
	})
	if !errors.Is(err, context.Canceled) {
		w.Errorf("error %v, want the context's", err)
	}
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

func testUnencodable(w *world) {
	_, _, err := nebis.Do(w.Context(), w.stores[0], w.op("k"), func(ctx context.Context, tx *sql.Tx) (any, error) {
		_, err := w.place(ctx, tx, "tea")
		return make(chan int), err
	})
	if err == nil {
		w.Error("no error")
	}
	w.wantOrders(0)
	w.wantFree(w.op("k"))
}

// check is must for other goroutines.
func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Error(err)
	}
}

// again reports whether the error says that calling again will tell.
func again(err error) bool {
	return errors.Is(err, nebis.ErrInProgress) || errors.Is(err, nebis.ErrBusy) || errors.Is(err, nebis.ErrNotCommitted)
}

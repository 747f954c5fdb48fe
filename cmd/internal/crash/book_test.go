package crash

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// A book has what clients were told, in the order in which they were.
type book struct {
	mu    sync.Mutex
	tried map[string][]attempt
}

func (b *book) enter(a attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tried == nil {
		b.tried = map[string][]attempt{}
	}
	b.tried[a.Key] = append(b.tried[a.Key], a)
}

// audit compares the book with the tables and enters the result under the name
// of the test: n kills, freezes or cuts.
func (w *world) audit(name string, n int) {
	w.t.Helper()
	w.open(func(db *sql.DB) {
		orders, points := w.orders(db), w.column(db, `SELECT run FROM points`)
		sum := tally{Times: n, Keys: len(w.book.tried)}
		rows := 0
		for k, tried := range w.book.tried {
			rows += len(orders[k])
			sum.judge(w.t, k, tried, orders[k], points)
		}
		if rows != len(points) {
			w.t.Errorf("%d orders, %d points", rows, len(points))
		}
		if done := len(w.column(db, `SELECT idem_key FROM idempotency WHERE status = 'done'`)); done != sum.Keys {
			w.t.Errorf("%d keys are done, want %d", done, sum.Keys)
		}
		results.add(name, w.c.Name, sum)
	})
}

// judge looks at one key when all is over: it must have exactly one order.
func (s *tally) judge(t *testing.T, key string, tried []attempt, runs, points []string) {
	t.Helper()
	bad := func(n *int, format string, args ...any) {
		*n++
		t.Errorf("%s: %s\n%s", key, fmt.Sprintf(format, args...), encode(tried[max(0, len(tried)-5):]))
	}
	s.class(tried)
	s.Answers += len(slices.DeleteFunc(slices.Clone(tried), func(a attempt) bool { return a.Happened != yes }))
	switch {
	case len(runs) == 0:
		bad(&s.Lost, "lost")
		return
	case len(runs) > 1:
		bad(&s.Doubled, "%d orders", len(runs))
	case !slices.Contains(points, runs[0]):
		bad(&s.Lost, "an order without its points")
	}
	for _, a := range tried {
		switch {
		case a.Happened == yes && a.Order != order{key, runs[0]}:
			bad(&s.Untrue, "the row is %s, but the answer was %s", runs[0], encode(a))
		case a.Happened == no && slices.Contains(a.Runs, runs[0]):
			bad(&s.Untrue, "said not to have happened, but it did")
		}
	}
}

// class counts the key by what its first caller heard.
func (s *tally) class(tried []attempt) {
	ran := slices.ContainsFunc(tried, func(a attempt) bool { return a.Happened == yes && !a.Replayed })
	first := slices.IndexFunc(tried, func(a attempt) bool { return a.Happened == yes })
	switch {
	case !ran && first > 0:
		s.Silent++
	case first > 0:
		s.Again++
	case first == 0:
		s.Acknowledged++
	}
}

// orders returns the runs of each key.
func (w *world) orders(db *sql.DB) map[string][]string {
	w.t.Helper()
	found := map[string][]string{}
	ops := w.column(db, `SELECT op FROM orders ORDER BY run`)
	for i, run := range w.column(db, `SELECT run FROM orders ORDER BY run`) {
		found[ops[i]] = append(found[ops[i]], run)
	}
	return found
}

func (w *world) column(db *sql.DB, query string) []string {
	w.t.Helper()
	rows, err := db.QueryContext(w.t.Context(), query)
	w.must(err)
	defer rows.Close()
	var values []string
	for rows.Next() {
		var v string
		w.must(rows.Scan(&v))
		values = append(values, v)
	}
	w.must(rows.Err())
	return values
}

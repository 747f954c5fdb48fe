package crash

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A world is one database with a shop in it, and the book of what its clients
// were told.
type world struct {
	t    *testing.T
	c    dbtest.Config
	dsn  string
	book *book
}

func newWorld(t *testing.T, c dbtest.Config) *world {
	t.Helper()
	w := &world{t: t, c: c, dsn: c.Fresh(t), book: new(book)}
	schema, err := c.Dialect.Schema("")
	w.must(err)
	w.open(func(db *sql.DB) {
		for _, q := range append(strings.Split(strings.TrimSuffix(schema, ";\n"), ";\n\n"), tables...) {
			_, err := db.ExecContext(t.Context(), q)
			w.must(err)
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// open gives f a pool that is closed afterwards: as long as nobody else has an
// SQLite file open, who opens it next has to recover it.
func (w *world) open(f func(*sql.DB)) {
	w.t.Helper()
	db, err := sql.Open(w.c.Driver, w.dsn)
	w.must(err)
	defer db.Close()
	f(db)
}

func (w *world) store(db *sql.DB, o *nebis.Options) *nebis.Store {
	w.t.Helper()
	s, err := nebis.New(db, w.c.Dialect, o)
	w.must(err)
	return s
}

// patience bounds what a broken core would never end.
const patience = 2 * time.Minute

// insist makes attempts until there is an answer, as a client would.
func (w *world) insist(key string, once func() attempt) attempt {
	for end := time.Now().Add(patience); ; {
		a := once()
		w.book.enter(a)
		if a.Happened == yes {
			return a
		}
		// A row left in processing is nothing that a later call could tell of.
		stuck := a.Runs == nil && a.Happened == maybe && errors.Is(a.cause, nebis.ErrTxGone)
		if stuck || time.Now().After(end) {
			w.t.Errorf("%s: no answer: %s", key, a.Err)
			return a
		}
		time.Sleep(5*time.Millisecond + rand.N(20*time.Millisecond))
	}
}

// again sends keys once more, from a fresh pool, and returns the answers.
func (w *world) again(keys ...string) []attempt {
	w.t.Helper()
	var answers []attempt
	w.open(func(db *sql.DB) {
		s := w.store(db, nil)
		for _, k := range keys {
			answers = append(answers, w.insist(k, func() attempt { return try(context.Background(), s, k, onward) }))
		}
	})
	return answers
}

// killed enters that nobody was left to hear the answer.
func (w *world) killed(keys ...string) {
	for _, k := range keys {
		w.book.enter(attempt{Key: k, Happened: maybe, Err: "killed"})
	}
}

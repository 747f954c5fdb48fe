//go:build unix

package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// freeze stops the program with SIGSTOP and waits until it has stopped.
func (p *program) freeze() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatal(err)
	}
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func (p *program) thaw() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Fatal(err)
	}
}

// hasty are the databases, set so that a duplicate is soon told no.
func hasty() []dbtest.Config {
	list := databases()
	for i, c := range list {
		switch c.Kind {
		case dbtest.SQLite:
			list[i].Options = "_pragma=journal_mode(WAL)&_pragma=busy_timeout(100)"
		case dbtest.MySQL:
			list[i] = c.With("innodb_lock_wait_timeout=1")
		}
	}
	return list
}

// A program that is frozen in the middle of its function goes on holding its
// key. Duplicates elsewhere are told so, and get its answer when it has gone on.
func TestAProgramFrozenInsideItsFunction(t *testing.T) {
	each(t, hasty(), func(t *testing.T, c dbtest.Config) {
		lanes(t, func(t *testing.T, times int) {
			w := newWorld(t, c)
			p := w.start(w.dsn)
			for i := range times {
				w.freezeInside(p, key("frozen", i))
			}
			w.audit("program frozen inside its function", times)
		})
	})
}

func (w *world) freezeInside(p *program, k string) {
	w.t.Helper()
	p.ask(request{Key: k, Stop: afterWrites})
	p.reaches(afterWrites)
	p.freeze()
	for _, a := range w.duplicates(k, k) {
		if a.Runs != nil || !errors.Is(a.cause, nebis.ErrInProgress) && !errors.Is(a.cause, nebis.ErrBusy) {
			w.t.Errorf("%s: a duplicate of a frozen one got %s", k, encode(a))
		}
	}
	p.thaw()
	p.ask(request{GoOn: true})
	w.book.enter(p.answer())
	if a := w.again(k)[0]; !a.Replayed {
		w.t.Errorf("%s: ran twice", k)
	}
}

// duplicates sends keys at once from another process that does not wait long.
func (w *world) duplicates(keys ...string) []attempt {
	w.t.Helper()
	answers := make([]attempt, len(keys))
	w.open(func(db *sql.DB) {
		s := w.store(db, &nebis.Options{Wait: 50 * time.Millisecond, WaitPiece: time.Second})
		var wg sync.WaitGroup
		for i, k := range keys {
			wg.Go(func() { answers[i] = try(context.Background(), s, k, onward) })
		}
		wg.Wait()
	})
	return answers
}

func TestAProgramFrozenAtAnyMoment(t *testing.T) {
	each(t, hasty(), func(t *testing.T, c dbtest.Config) {
		lanes(t, func(t *testing.T, times int) {
			w := newWorld(t, c)
			p := w.start(w.dsn)
			for i := range times {
				w.freezeSomewhere(p, fmt.Sprint("round-", i))
			}
			w.audit("program frozen at any moment", times)
		})
	})
}

// freezeSomewhere freezes a program that has many orders under way. Meanwhile
// all of them are sent from another process too.
func (w *world) freezeSomewhere(p *program, round string) {
	w.t.Helper()
	const under = 20
	var keys []string
	for i := range under {
		keys = append(keys, key(round, i))
		p.ask(request{Key: keys[i]})
	}
	answered := rand.N(under)
	for range answered {
		w.book.enter(p.answer())
	}
	p.freeze()
	for _, a := range w.duplicates(keys...) {
		w.book.enter(a)
	}
	p.thaw()
	for range under - answered {
		w.book.enter(p.answer())
	}
	w.again(keys...)
}

// impatient are the databases that cut a transaction which does nothing, with
// the setting that says after how long.
func impatient() []dbtest.Config {
	return []dbtest.Config{
		dbtest.Lookup("mariadb").With("idle_write_transaction_timeout=1"),
		dbtest.Lookup("postgres-pgx").With("idle_in_transaction_session_timeout=300"),
		dbtest.Lookup("mysql56").With("wait_timeout=1"),
	}
}

// A program that is frozen for so long that the database cuts its transaction
// finds, when it goes on, that another has placed its order.
func TestAProgramFrozenUntilItsTransactionIsCut(t *testing.T) {
	each(t, impatient(), func(t *testing.T, c dbtest.Config) {
		lanes(t, func(t *testing.T, times int) {
			w := newWorld(t, c)
			p := w.start(w.dsn)
			for i := range times {
				k := key("cut", i)
				p.ask(request{Key: k, Stop: afterWrites})
				p.reaches(afterWrites)
				p.freeze()
				if a := w.again(k)[0]; a.Replayed {
					t.Errorf("%s: replayed what had not been committed", k)
				}
				p.thaw()
				p.ask(request{GoOn: true})
				w.book.enter(p.answer())
			}
			w.audit("program frozen until its transaction was cut", times)
		})
	})
}

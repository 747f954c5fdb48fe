package crash

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestAProgramKilledAtAStep(t *testing.T) {
	each(t, databases(), func(t *testing.T, c dbtest.Config) {
		for _, s := range steps {
			t.Run(string(s), func(t *testing.T) {
				t.Parallel()
				killAt(t, c, s)
			})
		}
	})
}

// killAt kills a program with one order acknowledged and the next stopped at s,
// then sends both again.
func killAt(t *testing.T, c dbtest.Config, s step) {
	w := newWorld(t, c)
	for i := range *times {
		p := w.start(w.dsn)
		first, second := key(i, "first"), key(i, "second")
		p.ask(request{Key: first})
		w.book.enter(p.answer())
		p.ask(request{Key: second, Stop: s})
		p.reaches(s)
		p.kill()
		w.killed(second)
		for j, a := range w.again(first, second) {
			if want := j == 0 || s.committed(); a.Replayed != want {
				t.Errorf("%s: replayed %v, want %v", a.Key, a.Replayed, want)
			}
		}
	}
	w.audit("program killed "+string(s), *times)
}

func TestAProgramKilledAtAnyMoment(t *testing.T) {
	each(t, databases(), func(t *testing.T, c dbtest.Config) {
		w := newWorld(t, c)
		for i := range *times {
			w.killSomewhere(fmt.Sprint("round-", i))
		}
		w.audit("program killed at any moment", *times)
	})
}

// killSomewhere kills a program that has many orders under way and has answered
// some of them.
func (w *world) killSomewhere(round string) {
	const under = 20
	p := w.start(w.dsn)
	asked := map[string]bool{}
	for i := range under {
		asked[key(round, i)] = true
		p.ask(request{Key: key(round, i)})
	}
	answered := func(a attempt) {
		delete(asked, a.Key)
		w.book.enter(a)
	}
	for range rand.N(under) {
		answered(p.answer())
	}
	for _, a := range p.kill() {
		answered(a)
	}
	for k := range asked {
		w.killed(k)
	}
	for i := range under {
		w.again(key(round, i))
	}
}

package leases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Several clients at once.
func TestHistoriesOfManyAreLinearizable(t *testing.T) {
	everywhere(t, 25, func(g *ground, seed uint64) []string {
		c := &crowd{ground: g, begun: time.Now()}
		var clients sync.WaitGroup
		start := make(chan struct{})
		for i := range 2 + random(seed).IntN(3) {
			m := &member{crowd: c, id: i, r: random(seed*10 + uint64(i))}
			clients.Go(func() {
				<-start
				m.play()
			})
		}
		close(start)
		clients.Wait()
		return c.judge()
	})
}

// A crowd is the clients of one history and what they saw.
type crowd struct {
	*ground
	begun  time.Time
	claims atomic.Int64
	mu     sync.Mutex
	seen   []porcupine.Operation
}

// model is the same as for a history of one.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, out any) (bool, any) { return s.(state).next(in.(action), out.(outcome)) },
}

// judge asks for an order of all that was seen that the model allows.
func (c *crowd) judge() []string {
	for _, op := range c.seen {
		c.tally[op.Input.(action).kind+": "+op.Output.(outcome).is]++
	}
	result := porcupine.CheckOperationsTimeout(model, c.seen, patience)
	if result == porcupine.Ok {
		return nil
	}
	slices.SortFunc(c.seen, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	lines := []string{"no order of this is allowed: " + string(result)}
	for _, op := range c.seen {
		lines = append(lines, fmt.Sprintf("client %d, %d to %d µs: %v: %s", op.ClientId, op.Call/1000, op.Return/1000, op.Input, describe(op.Output.(outcome))))
	}
	return lines
}

// patience bounds the search, which for a handful of steps takes milliseconds.
const patience = time.Minute

func describe(o outcome) string {
	if o.seen != (lookedAt{}) {
		return fmt.Sprintf("%+v", o.seen)
	}
	return o.is + " " + o.answer
}

// A member is one client: a process, with a person at its side.
type member struct {
	*crowd
	id int
	r  *rand.Rand
	x  *holder // its own Lease, when one is under way
}

func (m *member) play() {
	for range 4 + m.r.IntN(5) {
		m.step()
	}
	if m.x != nil {
		m.end("unknown")
	}
}

func (m *member) step() {
	kind := kinds[m.r.IntN(len(kinds))]
	how := []string{"done", "done", "free", "unknown"}[m.r.IntN(4)]
	a := action{kind: kind}
	switch {
	case kind == "end" && m.x != nil:
		m.end(how)
		return
	case kind == "claim" || kind == "verify" || kind == "end":
		if m.x == nil { // in the store of one that runs, it would wait in memory
			m.claim(kind == "verify")
		}
		return
	case kind == "do" && m.x != nil || kind == "beat":
		a.kind = "look"
	case kind == "do":
		a.n, a.answer = int(m.claims.Add(1)), m.answer()
	case kind == "resolve" && how == "done":
		a.how, a.answer = how, m.answer()
	case kind == "resolve" || kind == "release":
		a.how = "free"
	}
	m.did(a, func() outcome { return m.act(m.stores[m.id], a) })
}

// answer is one that no other client gives.
func (m *member) answer() string { return fmt.Sprintf("%d.%d", m.id, m.r.IntN(1_000_000)) }

func (m *member) did(a action, f func() outcome) (o outcome) {
	call := time.Since(m.begun)
	o = f()
	back := time.Since(m.begun)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, porcupine.Operation{ClientId: m.id, Input: a, Call: int64(call), Output: o, Return: int64(back)})
	return o
}

func (m *member) claim(verify bool) {
	a := action{kind: "claim", n: int(m.claims.Add(1)), verify: verify}
	var x *holder
	if o := m.did(a, func() (o outcome) {
		x, o = m.ground.claim(m.id, a, time.Hour)
		return o
	}); o.is == held || o.is == verifying {
		m.x = x
	}
}

func (m *member) end(how string) {
	a := action{kind: "end", n: m.x.n, how: how}
	if how == "done" {
		a.answer = m.answer()
	}
	m.did(a, func() outcome { return m.x.ends(a) })
	m.x = nil
}

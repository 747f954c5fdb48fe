package worlds

import (
	"math/rand/v2"
	"time"

	"github.com/nebis-dev/nebis"
)

// chance draws a plan from a seed.
type chance struct{ *rand.Rand }

func draw(p product, seed uint64) plan {
	c := chance{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	w := plan{seed: seed, p: p}
	m := c.mood(p)
	for range c.IntN(3) + 1 {
		w.stores = append(w.stores, c.store(p))
	}
	for i := range m.keys {
		w.keys = append(w.keys, c.key(p, i))
	}
	for i := range w.keys {
		for range m.senders(c) {
			w.calls = append(w.calls, c.call(w, m, i))
		}
	}
	c.Shuffle(len(w.calls), func(i, j int) { w.calls[i], w.calls[j] = w.calls[j], w.calls[i] })
	for range m.beside {
		w.beside = append(w.beside, c.besides(w))
	}
	w.strict()
	return w
}

// strict asks for what MySQL proper needs in order to notice a transaction
// that ended by hand.
func (w *plan) strict() {
	for _, call := range w.calls {
		if call.script.has("CRBADMK") {
			for i := range w.stores {
				w.stores[i].o.Strict = true
			}
		}
	}
}

// in reports true once in n times.
func (c chance) in(n int) bool { return n > 0 && c.IntN(n) == 0 }

func (c chance) upTo(d time.Duration) time.Duration { return time.Duration(c.Int64N(int64(d))) }

// A mood is what the calls of one world have in common.
type mood struct {
	keys, most int           // most senders of a key
	slow       time.Duration // a function sleeps up to this
	bad        int           // one function in bad fails
	evil       int           // one in evil ends or loses its transaction
	impatient  int           // one call in impatient has a context that ends
	tx         int           // one in tx is a DoTx
	spread     time.Duration // over which the calls start
	beside     int
}

func (c chance) mood(p product) mood {
	m := mood{keys: 1 + c.IntN(5), most: 30, slow: time.Millisecond, spread: c.upTo(5 * time.Millisecond)}
	m.bad = []int{0, 2, 4, 20}[c.IntN(4)]
	m.evil = []int{0, 0, 3, 10}[c.IntN(4)]
	m.impatient = []int{0, 0, 3, 10}[c.IntN(4)]
	m.tx = []int{0, 0, 2, 5}[c.IntN(4)]
	m.beside = []int{0, 0, 3, 10}[c.IntN(4)]
	switch c.IntN(12) {
	case 0: // many slow keys
		m.keys, m.most, m.slow = 10+c.IntN(20), 8, 10*time.Millisecond
	case 1: // a crowd before one key
		m.keys, m.most = 1, 200
	case 2: // few, and so more often in step
		m.keys, m.most, m.spread = 1, 4, 0
	}
	if p.dialect == nebis.SQLite { // one writer; a transaction of the caller's stands in nobody's queue
		m.most, m.slow = min(m.most, 100), m.slow/4
		m.tx *= 4
	}
	return m
}

// senders is 2 to most, mostly few.
func (m mood) senders(c chance) int {
	n := 2 + c.IntN(m.most-1)
	if m.most < 100 && c.in(2) {
		n = 2 + c.IntN(n)
	}
	return n
}

func (c chance) store(p product) storePlan {
	s := storePlan{variant: c.IntN(len(p.variants)), conns: 1 + c.IntN(5)}
	s.o = nebis.Options{
		Wait:            []time.Duration{0, 0, -1, 20 * time.Millisecond, time.Second}[c.IntN(5)],
		WaitPiece:       []time.Duration{0, 30 * time.Millisecond, time.Second}[c.IntN(3)],
		MaxWaiters:      []int{0, 0, 3, 20}[c.IntN(4)],
		MaxWaitingConns: []int{0, 1, 2}[c.IntN(3)],
		Strict:          c.in(2),
		Unprepared:      c.in(3),
	}
	if c.in(10) {
		s.o.CommitWait = 50 * time.Millisecond
	}
	if levels := p.variants[0].Levels(); c.in(2) {
		s.o.Isolation = levels[c.IntN(len(levels))]
	}
	return s
}

// The parts of keys differ as little as possible, so that a database which
// compares them loosely is found out.
var (
	keyParts   = []string{"k", "K", "k.", "kk"}
	scopeParts = []string{"order", "Order", "refund"}
	ownerParts = []string{"u1", "U1", nebis.Anyone}
)

func (c chance) key(p product, n int) keyPlan {
	k := keyPlan{old: c.in(3), op: nebis.Op{Scope: scopeParts[n%3], Owner: ownerParts[n/3%3], Key: keyParts[n/9%4]}}
	switch {
	case p.microseconds && c.in(6):
		k.op.Keep = []time.Duration{time.Microsecond, time.Millisecond, 5 * time.Millisecond}[c.IntN(3)]
		if c.in(2) {
			k.op.KeepSeen = time.Hour
		}
	case c.in(10):
		k.large = true
	}
	return k
}

func (c chance) besides(w plan) besidePlan {
	return besidePlan{
		what: "eeefppp"[c.IntN(7)], key: c.IntN(len(w.keys)), store: c.IntN(len(w.stores)),
		after: c.upTo(20 * time.Millisecond), limit: 1 + c.IntN(20), times: 1 + c.IntN(5),
	}
}

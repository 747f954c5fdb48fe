package leases

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// One step after the other.
func TestHistories(t *testing.T) {
	everywhere(t, 15, func(g *ground, seed uint64) []string {
		h := &history{ground: g, r: random(seed)}
		for range 60 {
			h.step()
			if h.failed {
				break
			}
		}
		for len(h.holders) > 0 && !h.failed {
			h.end(0, "unknown") // those that had crashed, or were only slow
		}
		if !h.failed {
			return nil
		}
		return h.lines
	})
}

type history struct {
	*ground
	r       *rand.Rand
	now     state
	claims  int
	holders []*holder // under way, whoever has the key now
	lines   []string
	failed  bool
}

// kinds are drawn from; a kind that stands here more often comes more often.
var kinds = []string{"claim", "claim", "claim", "verify", "verify", "end", "end", "end", "over", "over", "age", "resolve", "resolve", "release", "purge", "do", "beat"}

func (h *history) step() {
	kind := kinds[h.r.IntN(len(kinds))]
	how := []string{"done", "done", "free", "unknown"}[h.r.IntN(4)]
	switch kind {
	case "claim", "verify":
		h.claim(kind == "verify", time.Hour)
	case "beat":
		if h.r.IntN(10) == 0 {
			h.beat(how)
		}
	case "end":
		if n := len(h.holders); n > 0 {
			h.end(h.r.IntN(n), how)
		}
	case "resolve", "release":
		a := action{kind: kind, how: "free"}
		if kind == "resolve" && how == "done" {
			a.how, a.answer = how, h.answer()
		}
		h.plain(a)
	case "do":
		h.claims++
		h.plain(action{kind: kind, n: h.claims, answer: h.answer()})
	default:
		h.plain(action{kind: kind})
	}
}

func (h *history) answer() string { return fmt.Sprint("a", h.r.IntN(1000)) }

// check asks the model about a step, and Look about the state after it.
func (h *history) check(a action, o outcome) {
	a.strict = true
	allowed, next := h.now.next(a, o)
	h.lines = append(h.lines, fmt.Sprintf("%v: %s%s", a, o.is, o.answer))
	h.tally[a.kind+": "+o.is]++
	if !allowed {
		h.failed = true
		h.lines = append(h.lines, fmt.Sprintf("WRONG, the state is %+v", h.now))
		return
	}
	h.now = next
	if seen := h.look(h.stores[h.r.IntN(stores)]); seen.is != ok || seen.seen != next.seen() {
		h.failed = true
		h.lines = append(h.lines, fmt.Sprintf("WRONG, it looks %+v, want %+v", seen, next.seen()))
	}
}

func (h *history) plain(a action) {
	if store, ok := h.idle(); ok {
		h.check(a, h.act(h.stores[store], a))
	}
}

// idle is a store that holds nothing: in one that does, a claim would wait in
// memory.
func (h *history) idle() (int, bool) {
	for _, i := range h.r.Perm(stores) {
		if !slices.ContainsFunc(h.holders, func(x *holder) bool { return x.store == i }) {
			return i, true
		}
	}
	return 0, false
}

func (h *history) claim(verify bool, length time.Duration) *holder {
	store, free := h.idle()
	if !free {
		return nil
	}
	h.claims++
	a := action{kind: "claim", n: h.claims, verify: verify}
	x, o := h.ground.claim(store, a, length)
	if o.is == held || o.is == verifying {
		h.holders = append(h.holders, x)
	}
	h.check(a, o)
	return x
}

func (h *history) end(i int, how string) {
	x := h.holders[i]
	h.holders = slices.Delete(h.holders, i, i+1)
	a := action{kind: "end", n: x.n, how: how}
	if how == "done" {
		a.answer = h.answer()
	}
	h.check(a, x.ends(a))
}

// beat claims the key for a short time, waits to see the lease extended, and ends.
// Should this program be so slow that the lease ran out, that changes nothing:
// nobody else is there to take it.
func (h *history) beat(how string) {
	x := h.claim(false, 600*time.Millisecond)
	if x == nil || x.phase != held || h.failed {
		return
	}
	until := func() time.Time {
		e, err := h.stores[x.store].Look(h.t.Context(), op.Scope, op.Owner, op.Key)
		h.must(err)
		return e.LeaseUntil
	}
	for was := until(); x.ctx.Err() == nil && until().Equal(was); {
		time.Sleep(10 * time.Millisecond)
	}
	h.tally["extended"]++
	h.end(len(h.holders)-1, how)
}

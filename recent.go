package nebis

import (
	"hash/maphash"
	"sync/atomic"
)

// recent remembers, roughly, which keys this process has seen done. It decides
// nothing: a key that it knows is looked for before it is claimed, which answers
// a retry in one round trip, and any other is claimed at once, so that a first
// try never pays for a look. What it forgets or mixes up costs one read.
type recent struct {
	seed  maphash.Seed
	slots [1 << 12]atomic.Uint64
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

func (r *recent) add(k flightKey) {
	h := maphash.Comparable(r.seed, k)
	r.slots[h%uint64(len(r.slots))].Store(h)
}

func (r *recent) has(k flightKey) bool {
	h := maphash.Comparable(r.seed, k)
	return r.slots[h%uint64(len(r.slots))].Load() == h
}

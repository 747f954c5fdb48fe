package nebis

import (
	"fmt"
	"testing"
)

func TestRecentKnowsTheKeyItWasGivenAndNoOther(t *testing.T) {
	r := newRecent()
	k := flightKey{"order", "u1", "k"}
	r.add(k)
	if !r.has(k) {
		t.Error("forgotten")
	}
	for _, other := range []flightKey{{"orde", "ru1", "k"}, {"order", "u2", "k"}, {"order", "u1", "K"}, {}} {
		if r.has(other) {
			t.Errorf("%v taken for %v", other, k)
		}
	}
}

func TestRecentKeepsTheNewerOfTwoThatShareAPlace(t *testing.T) {
	r := newRecent()
	for i := range 10 * len(r.slots) {
		k := flightKey{"order", "u1", fmt.Sprint(i)}
		if r.add(k); !r.has(k) {
			t.Fatalf("key %d forgotten at once", i)
		}
	}
}

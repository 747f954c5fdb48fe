package worlds

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

func TestWorlds(t *testing.T) {
	seed := variable(t, "NEBIS_SEED", rand.Uint64N(1_000_000_000))
	worlds := variable(t, "NEBIS_WORLDS", 40)
	t.Logf("NEBIS_SEED=%d NEBIS_WORLDS=%d", seed, worlds)
	for _, p := range products() {
		t.Run(p.name, func(t *testing.T) {
			g := newGround(t, p)
			for s := range worlds {
				plan := draw(p, seed+s)
				if wrong := g.play(t, plan); len(wrong) > 0 {
					report(t, plan, wrong)
				}
			}
			t.Log(&g.tally)
		})
	}
}

func variable(t *testing.T, name string, otherwise uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// report prints what was wrong, what was planned, and how to play it again.
func report(t *testing.T, p plan, wrong []string) {
	for i, s := range wrong {
		if i == 10 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(s)
	}
	t.Fatalf("play it again: NEBIS_SEED=%d NEBIS_WORLDS=1 go test -run '%s'\n%s", p.seed, t.Name(), p.lines())
}

package crash

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A mishap is what becomes of a COMMIT on its way, and what Do may say then.
type mishap struct {
	name      string
	fault     dbtest.Fault
	asking    bool // let go on when Do asks what became of it
	committed bool // in the end
	want      []verdict
	wait      time.Duration
}

var mishaps = []mishap{
	{name: "cut before it reached the server", fault: dbtest.CutBefore, want: []verdict{no}},
	{name: "executed, and the answer cut", fault: dbtest.CutAfter, committed: true, want: []verdict{yes}},
	{name: "delivered after Do gave up", fault: dbtest.Hold, committed: true, want: []verdict{maybe}, wait: time.Second},
	// Whether the answer comes in time is not up to Do.
	{name: "delivered while Do asks", fault: dbtest.Hold, asking: true, committed: true, want: []verdict{yes, maybe}, wait: 2 * time.Second},
	{name: "swallowed without a FIN", fault: dbtest.Swallow, want: []verdict{maybe}, wait: time.Second},
}

func TestACommitThatGoesAstray(t *testing.T) {
	each(t, remote(), func(t *testing.T, c dbtest.Config) {
		for _, m := range mishaps {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				lanes(t, func(t *testing.T, times int) {
					times = (times + 4) / 5 // most of these wait for a bound; a fifth will do
					p := newProxied(t, c, options(c, m.wait))
					for i := range times {
						p.stray(m, key("stray", i))
					}
					p.audit("COMMIT "+m.name, times)
				})
			})
		}
	})
}

// stray calls Do with a trap for its COMMIT, then again without one.
func (p proxied) stray(m mishap, k string) {
	p.t.Helper()
	a, commit := p.loseCommit(m, k)
	lied := a.Happened == no && !errors.Is(a.cause, nebis.ErrNotCommitted)
	if !slices.Contains(m.want, a.Happened) || a.Replayed || lied {
		p.t.Errorf("%s: Do said %s, want %v", k, encode(a), m.want)
	}
	commit.Release()
	if m.committed {
		<-commit.Answered()
	}
	if b := p.insist(k, func() attempt { return try(context.Background(), p.store, k, onward) }); b.Replayed != m.committed {
		p.t.Errorf("%s: replayed %v, want %v", k, b.Replayed, m.committed)
	}
}

// loseCommit calls Do until a COMMIT has gone into the trap; a busy machine may
// not get so far within the short wait.
func (p proxied) loseCommit(m mishap, k string) (a attempt, commit trap) {
	p.t.Helper()
	for commit.Trap == nil || !commit.seen.Load() {
		if a.Happened == yes {
			p.t.Fatalf("%s: the COMMIT was not seen", k)
		}
		a = try(context.Background(), p.store, k, func(_ context.Context, at step) {
			if at == afterWrites && commit.Trap == nil {
				commit = p.trap(m, k)
			}
		})
		p.book.enter(a)
	}
	return a, commit
}

func (p proxied) trap(m mishap, k string) trap {
	commit := p.set(m.fault, commitPacket(p.c.Kind))
	if m.asking {
		p.proxy.Set(m.fault, func(packet []byte) bool {
			if commit.seen.Load() && bytes.Contains(packet, []byte(k)) {
				commit.Release()
			}
			return false // only looks on
		})
	}
	return commit
}

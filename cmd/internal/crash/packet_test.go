package crash

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Every packet of a first run, from the first greeting of a new connection to
// the COMMIT, is cut, lost, or left without an answer once.
func TestAConnectionThatBreaksAtAnyPacket(t *testing.T) {
	each(t, remote(), func(t *testing.T, c dbtest.Config) {
		for name, fault := range map[string]dbtest.Fault{
			"cut": dbtest.CutBefore, "answer cut": dbtest.CutAfter, "swallowed": dbtest.Swallow,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newProxied(t, c, nil)
				n := 1
				for p.breakAt(n, fault, options(c, time.Second)) {
					n++
				}
				p.audit("packet "+name, n-1)
			})
		}
	})
}

// breakAt calls Do on a new pool and breaks its n-th packet; false: there were
// fewer. The caller gives up when it hears nothing.
func (p proxied) breakAt(n int, fault dbtest.Fault, o *nebis.Options) bool {
	p.t.Helper()
	s, k, count := p.newStore(o), key("packet", n), 0
	broken := p.set(fault, func(packet []byte) bool {
		if answered(p.c.Kind, packet) {
			count++
		}
		return count == n
	})
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	if fault == dbtest.Swallow {
		defer context.AfterFunc(p.t.Context(), giveUp)()
		go func() { <-broken.Sprung(); giveUp() }()
	}
	p.book.enter(try(ctx, s, k, onward))
	seen := broken.seen.Load()
	broken.Release()
	p.insist(k, func() attempt { return try(context.Background(), s, k, onward) })
	return seen && n < 100
}

// answered reports whether the server says anything to a packet. MySQL does not
// when a statement or the connection is closed.
func answered(k dbtest.Kind, packet []byte) bool {
	const quit, closeStmt = 0x01, 0x19
	if k == dbtest.Postgres {
		return true
	}
	return packet[4] != quit && (packet[4] != closeStmt || len(packet) > 9)
}

// silent is a server that takes connections and never says a word.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

func TestADatabaseOutOfReachIsAnErrorAndNothingRuns(t *testing.T) {
	each(t, remote(), func(t *testing.T, c dbtest.Config) {
		for name, addr := range map[string]string{"nobody listens": nobody(t), "nobody answers": silent(t)} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newProxied(t, c, nil)
				db, err := openBounded(c, c.Through(p.dsn, addr))
				p.must(err)
				defer db.Close()
				a := try(t.Context(), p.world.store(db, &nebis.Options{Wait: time.Second}), "k", onward)
				if a.Happened != no || a.Runs != nil {
					t.Errorf("Do said %s", encode(a))
				}
			})
		}
	})
}

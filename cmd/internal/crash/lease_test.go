package crash

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// The commit of a lease's claim is lost. Nothing has run, so nothing is unknown:
// the function runs once, now or when the caller comes again.
func TestALeaseWhoseClaimGoesAstray(t *testing.T) {
	each(t, remote(), func(t *testing.T, c dbtest.Config) {
		for name, fault := range map[string]dbtest.Fault{"cut": dbtest.CutBefore, "answer cut": dbtest.CutAfter} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newProxied(t, c, options(c, 0))
				op := nebis.Op{Scope: "order", Owner: "o", Key: "k"}
				ran := 0
				buy := func(context.Context) (int, error) { ran++; return ran, nil }
				lost := p.set(fault, grantPacket(c.Kind))
				_, _, err := nebis.Lease(context.Background(), p.store, op, nil, buy)
				if err != nil && (ran > 0 || !errors.Is(err, nebis.ErrNotCommitted)) {
					t.Errorf("ran %d times, error %v", ran, err)
				}
				if fault == dbtest.CutAfter && err != nil {
					t.Errorf("the claim is there, error %v", err)
				}
				if !lost.seen.Load() {
					t.Error("the commit was not seen")
				}
				lost.Release()
				if v, _, err := nebis.Lease(context.Background(), p.store, op, nil, buy); v != 1 || ran != 1 || err != nil {
					t.Errorf("again: got %d, ran %d times, error %v", v, ran, err)
				}
			})
		}
	})
}

// grantPacket matches the packet that commits a lease's claim.
func grantPacket(k dbtest.Kind) func([]byte) bool {
	if k != dbtest.MariaDB {
		return dbtest.Commit // on MySQL in one packet with the end of the statement before
	}
	const execute = 0x17
	prepared := false
	return func(p []byte) bool {
		grant := bytes.Contains(p, []byte("SET lease_until"))
		defer func() { prepared = prepared || grant }()
		return prepared && p[4] == execute || grant && bytes.Contains(p, []byte("= 'processing'")) && !bytes.Contains(p, []byte("?"))
	}
}

//go:build unix

package crash

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A holder is stopped by SIGSTOP until its lease is over, and goes on by SIGCONT
// when somebody else has acted: it has lost, and the other's answer stands. Where
// nobody has, its own does.
func TestAHolderStoppedOverTheEndOfItsLease(t *testing.T) {
	each(t, hasty(), func(t *testing.T, c dbtest.Config) {
		lanes(t, func(t *testing.T, times int) {
			w := newWorld(t, c)
			p := w.start(w.dsn)
			for i := range times {
				for name, meanwhile := range map[string]func(*nebis.Store, string) *order{
					"verified": w.verified, "resolved": w.resolved, "nobody": w.nobody,
				} {
					w.stopHolder(p, key(name, i), meanwhile)
				}
			}
		})
	})
}

// Long enough to be stopped before the lease is first extended.
const stoppedLease = time.Second

func (w *world) stopHolder(p *program, k string, meanwhile func(*nebis.Store, string) *order) {
	w.t.Helper()
	p.ask(request{Key: k, Lease: stoppedLease, Stop: afterClaim})
	p.reaches(afterClaim)
	p.freeze()
	w.open(func(db *sql.DB) {
		s := w.store(db, nil)
		w.over(s, k)
		want := meanwhile(s, k)
		p.thaw()
		p.ask(request{GoOn: true})
		a := p.answer()
		switch {
		case want == nil:
			want = &a.Order
			if a.Happened != yes || a.Replayed {
				w.t.Errorf("%s: nobody else came, the holder got %s", k, encode(a))
			}
		case !a.Lost:
			w.t.Errorf("%s: somebody else had it, the holder got %s", k, encode(a))
		}
		for range 2 {
			if got := tryLease(context.Background(), s, k, nil, nil); !got.Replayed || got.Order != *want || got.Runs != nil {
				w.t.Errorf("%s: afterwards %s, want the replay of %s", k, encode(got), encode(want))
			}
		}
	})
}

// over waits until the holder's lease is over. As long as it runs, others are
// told that it does.
func (w *world) over(s *nebis.Store, k string) {
	w.t.Helper()
	for {
		a := tryLease(context.Background(), s, k, nil, nil)
		switch {
		case errors.Is(a.cause, nebis.ErrUnknown):
			return
		case !errors.Is(a.cause, nebis.ErrInProgress) && !errors.Is(a.cause, nebis.ErrBusy):
			w.t.Fatalf("%s: beside a stopped holder: %s", k, encode(a))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *world) verified(s *nebis.Store, k string) *order {
	w.t.Helper()
	o := order{k, "found by its successor"}
	if a := tryLease(context.Background(), s, k, found(o), nil); a.Happened != yes || a.Order != o {
		w.t.Errorf("%s: the successor got %s", k, encode(a))
	}
	return &o
}

func (w *world) resolved(s *nebis.Store, k string) *order {
	w.t.Helper()
	o := order{k, "by hand"}
	w.open(func(db *sql.DB) {
		tx, err := db.Begin()
		w.must(err)
		defer tx.Rollback()
		_, err = s.Resolve(context.Background(), tx, "order", "user-1", k, nebis.Resolution{Verdict: nebis.Happened, Response: []byte(encode(o)), Reason: "a test"})
		w.must(err)
		w.must(tx.Commit())
	})
	return &o
}

func (w *world) nobody(*nebis.Store, string) *order { return nil }

// A holder is killed. Within its lease the key is in progress, after it unknown,
// and nothing runs a second time until somebody has found out.
func TestAHolderKilled(t *testing.T) {
	each(t, hasty(), func(t *testing.T, c dbtest.Config) {
		lanes(t, func(t *testing.T, times int) {
			w := newWorld(t, c)
			for i := range times {
				w.killHolder(key("killed", i))
			}
		})
	})
}

func (w *world) killHolder(k string) {
	w.t.Helper()
	p := w.start(w.dsn)
	p.ask(request{Key: k, Lease: time.Hour, Stop: afterClaim})
	p.reaches(afterClaim)
	p.kill()
	w.open(func(db *sql.DB) {
		s := w.store(db, nil)
		if a := tryLease(context.Background(), s, k, nil, nil); !errors.Is(a.cause, nebis.ErrInProgress) {
			w.t.Errorf("%s: within the lease: %s", k, encode(a))
		}
		_, err := db.Exec("UPDATE idempotency SET lease_until = '2001-01-01 00:00:00' WHERE idem_key = '" + k + "'")
		w.must(err)
		for range 2 {
			if a := tryLease(context.Background(), s, k, nil, nil); !errors.Is(a.cause, nebis.ErrUnknown) {
				w.t.Errorf("%s: after the lease: %s", k, encode(a))
			}
		}
		w.verified(s, k)
		if a := tryLease(context.Background(), s, k, nil, nil); !a.Replayed || a.Order.Run != "found by its successor" {
			w.t.Errorf("%s: afterwards %s", k, encode(a))
		}
	})
}

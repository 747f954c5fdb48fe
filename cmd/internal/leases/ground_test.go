package leases

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// everywhere plays histories on each database; f plays the one of a seed and
// returns what was wrong with it.
func everywhere(t *testing.T, most uint64, f func(g *ground, seed uint64) []string) {
	seed := variable(t, "NEBIS_SEED", rand.Uint64N(1_000_000_000))
	histories := variable(t, "NEBIS_HISTORIES", most)
	t.Logf("NEBIS_SEED=%d NEBIS_HISTORIES=%d", seed, histories)
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			g := newGround(t, c)
			for s := seed; s < seed+histories; s++ {
				g.must(g.exec("DELETE FROM idempotency"))
				if wrong := f(g, s); len(wrong) > 0 {
					t.Fatalf("%s\nplay it again: NEBIS_SEED=%d NEBIS_HISTORIES=1 go test -run '%s'", strings.Join(wrong, "\n"), s, t.Name())
				}
			}
			t.Log(g.tally)
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

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// A ground is a database with stores on it, which stand for processes.
type ground struct {
	t      *testing.T
	c      dbtest.Config
	db     *sql.DB
	stores [stores]*nebis.Store
	tally  map[string]int // how often each kind of step ended how
}

const stores = 6

func newGround(t *testing.T, c dbtest.Config) *ground {
	g := &ground{t: t, c: c, tally: map[string]int{}}
	dsn := c.Fresh(t)
	for i := range g.stores {
		db := c.Pool(t, dsn)
		s, err := nebis.New(db, c.Dialect, nil)
		g.must(err)
		g.db, g.stores[i] = db, s
	}
	_, err := g.stores[0].Migrate(t.Context(), false)
	g.must(err)
	return g
}

func (g *ground) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) exec(q string) error {
	_, err := g.db.ExecContext(g.t.Context(), q)
	return err
}

// op never waits: a step says at once what it finds.
var op = nebis.Op{Scope: "order", Owner: "o", Key: "k", Wait: -1}

// act plays a step that is no claim and no end through a store.
func (g *ground) act(s *nebis.Store, a action) outcome {
	switch a.kind {
	case "over":
		return did(g.exec("UPDATE idempotency SET lease_until = '2001-01-01 00:00:00'"))
	case "age":
		return did(g.exec("UPDATE idempotency SET expires_at = '2001-01-01 00:00:00'"))
	case "purge":
		n, err := s.Purge(g.t.Context(), 10)
		if err != nil {
			return did(err)
		}
		return outcome{is: fmt.Sprint(n)}
	case "look":
		return g.look(s)
	case "do":
		v, again, err := nebis.Do(g.t.Context(), s, op, func(context.Context, *sql.Tx) (string, error) { return a.answer, nil })
		return told(v, again, err)
	}
	return did(g.decide(s, a))
}

func (g *ground) look(s *nebis.Store) outcome {
	e, err := s.Look(g.t.Context(), op.Scope, op.Owner, op.Key)
	if err != nil || e == nil {
		return did(err)
	}
	var v string
	if e.Response != nil {
		err = json.Unmarshal(e.Response, &v)
	}
	o := did(err)
	o.seen = lookedAt{e.State, v, e.Attempts}
	return o
}

// decide is a person's step, in a transaction of its own.
func (g *ground) decide(s *nebis.Store, a action) error {
	ctx := g.t.Context()
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	switch {
	case a.kind == "release":
		_, err = s.Release(ctx, tx, op.Scope, op.Owner, op.Key, "a test")
	case a.how == "free":
		_, err = s.Resolve(ctx, tx, op.Scope, op.Owner, op.Key, nebis.Resolution{Verdict: nebis.DidNotHappen, Reason: "a test"})
	default:
		_, err = s.Resolve(ctx, tx, op.Scope, op.Owner, op.Key, nebis.Resolution{Verdict: nebis.Happened, Response: []byte(strconv.Quote(a.answer)), Reason: "a test"})
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// did is the outcome of a step that says no more than an error.
func did(err error) outcome {
	switch {
	case err == nil:
		return outcome{is: ok}
	case errors.Is(err, nebis.ErrState):
		return outcome{is: not}
	case errors.Is(err, nebis.ErrLost):
		return outcome{is: lost}
	case errors.Is(err, nebis.ErrUnknown):
		return outcome{is: unknown}
	case errors.Is(err, nebis.ErrInProgress), errors.Is(err, nebis.ErrBusy), errors.Is(err, nebis.ErrNotCommitted), errors.Is(err, nebis.ErrTxGone), conflict(err):
		return outcome{is: refused}
	}
	return outcome{is: err.Error()}
}

// conflict reports whether the database itself refused a plain statement for the
// sake of another: nothing of it was done.
func conflict(err error) bool {
	for _, s := range []string{"Error 1020", "Error 1205", "Error 1213", "40001", "40P01", "database is locked"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

func told(v string, again bool, err error) outcome {
	o := did(err)
	if o.is == ok && again {
		return outcome{is: replayed, answer: v}
	}
	return o
}

// A holder is a Lease that is under way. Its function, and its Verify, wait to be
// told how to end.
type holder struct {
	n     int
	store int
	phase string // held or verifying
	ctx   context.Context
	end   chan action
	event chan outcome
}

// claim starts a Lease and returns how its claim ended; the holder has it if it
// was held or verifying.
func (g *ground) claim(store int, a action, length time.Duration) (*holder, outcome) {
	h := &holder{n: a.n, store: store, end: make(chan action), event: make(chan outcome)}
	stop := func(phase string) func(ctx context.Context) action {
		return func(ctx context.Context) action {
			h.ctx = ctx
			h.event <- outcome{is: phase}
			return <-h.end
		}
	}
	opts := &nebis.LeaseOptions[string]{Length: length}
	if a.verify {
		opts.Verify = func(ctx context.Context) (nebis.Verdict, string, error) { return verdict(stop(verifying)(ctx)) }
	}
	go func() {
		v, again, err := nebis.Lease(g.t.Context(), g.stores[store], op, opts, func(ctx context.Context) (string, error) {
			return result(stop(held)(ctx))
		})
		h.event <- told(v, again, err)
	}()
	o := <-h.event
	h.phase = o.is
	return h, o
}

var errTest = errors.New("a test")

func result(a action) (string, error) {
	switch a.how {
	case "done":
		return a.answer, nil
	case "free":
		return "", nebis.NotDone(errTest)
	}
	return "", errTest
}

// verdict is what Verify says: free lets the function run, which is no step.
func verdict(a action) (nebis.Verdict, string, error) {
	switch a.how {
	case "done":
		return nebis.Happened, a.answer, nil
	case "free":
		return nebis.DidNotHappen, "", nil
	}
	return nebis.CannotTell, "", nil
}

// ends lets a holder end so, and returns how its save ended.
func (h *holder) ends(a action) outcome {
	h.end <- a
	o := <-h.event
	if h.phase == verifying && a.how == "free" && o.is == held {
		h.end <- a
		o = <-h.event
	}
	switch {
	case a.how == "unknown" && o.is == unknown:
		return outcome{is: ok}
	case a.how == "free" && o.is == errTest.Error():
		return outcome{is: ok}
	case h.phase == verifying && o.is == replayed && o.answer == a.answer:
		return outcome{is: ok} // what Verify found is an answer of before
	}
	return o
}

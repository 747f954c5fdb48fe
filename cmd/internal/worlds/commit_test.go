package worlds

import (
	"bytes"
	"errors"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A COMMIT whose answer did not come: what Do says about it, and how many
// orders there are, for each of the ways in which it can be lost.
func TestAfterALostCommitTheTruthIsTold(t *testing.T) {
	for _, name := range []string{"mariadb-interpolate", "mysql56", "postgres-pgx", "postgres-pq"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			t.Run("cut before it arrives", func(t *testing.T) {
				w := newLine(t, c)
				w.proxy.Set(dbtest.CutBefore, dbtest.Commit)
				_, _, err := w.place(0)
				w.want(0, err, nebis.ErrNotCommitted)
				w.again(false)
			})
			t.Run("executed, the answer cut", func(t *testing.T) {
				w := newLine(t, c)
				w.proxy.Set(dbtest.CutAfter, dbtest.Commit)
				_, replayed, err := w.place(0)
				if replayed {
					t.Error("replayed")
				}
				w.want(1, err, nil)
				w.again(true)
			})
			t.Run("lost, and another did it", func(t *testing.T) { testAnotherDidIt(t, c) })
		})
	}
}

// The connection is cut before the COMMIT, and before the caller can ask what
// became of it, another process has done the operation.
func testAnotherDidIt(t *testing.T, c dbtest.Config) {
	w := newLine(t, c)
	w.proxy.Set(dbtest.CutBefore, dbtest.Commit)
	claims := 0
	asks := w.proxy.Set(dbtest.Hold, func(packet []byte) bool {
		if bytes.Contains(packet, []byte("INSERT INTO")) && bytes.Contains(packet, []byte("idempotency")) {
			claims++
		}
		return claims == 2
	})
	go func() {
		defer asks.Release()
		<-asks.Sprung()
		if id, replayed, err := w.place(1); id != 2 || replayed || err != nil {
			t.Errorf("the other: order %d, replayed %v, error %v", id, replayed, err)
		}
	}()
	id, replayed, err := w.place(0)
	if id != 2 || !replayed {
		t.Errorf("order %d, replayed %v; want the other's", id, replayed)
	}
	w.want(1, err, nil)
}

// A line is a process that reaches the database through a proxy, and another
// that reaches it directly.
type line struct {
	*crowd
	proxy *dbtest.Proxy
}

func newLine(t *testing.T, c dbtest.Config) *line {
	dsn := c.Fresh(t)
	p := dbtest.NewProxy(t, c.Addr(t))
	// One packet for each statement, with its text.
	return &line{connect(t, c, [2]string{c.Through(dsn, p.Addr), dsn}, &nebis.Options{Unprepared: true}), p}
}

func (w *line) place(store int) (int64, bool, error) {
	done := make(chan struct{})
	close(done)
	return w.crowd.place(store, "k", func() {}, done)
}

func (w *line) want(orders int, got, want error) {
	w.Helper()
	if !errors.Is(got, want) || got != nil && want == nil {
		w.Errorf("error %v, want %v", got, want)
	}
	w.wantOrders(orders)
}

// again places the order once more: a replay or a first run, and one order.
func (w *line) again(wantReplay bool) {
	w.Helper()
	_, replayed, err := w.place(0)
	if err != nil || replayed != wantReplay {
		w.Errorf("again: replayed %v, error %v", replayed, err)
	}
	w.wantOrders(1)
}

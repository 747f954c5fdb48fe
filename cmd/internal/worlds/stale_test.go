package worlds

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// An answer expires and is replaced by another process while the first one's
// COMMIT is on its way back. Who asks after that gets the new one, though it joins
// those who wait for the old.
func TestWhoAsksAfterAnAnswerWasReplacedGetsTheNewOne(t *testing.T) {
	for _, name := range []string{"mariadb-interpolate", "mysql56", "postgres-pgx", "postgres-pq"} {
		t.Run(name, func(t *testing.T) { testReplaced(t, newLine(t, dbtest.Lookup(name))) })
	}
}

func testReplaced(t *testing.T, w *line) {
	ask := func(store int, keep time.Duration) (int64, bool, error) {
		op := nebis.Op{Scope: "order", Owner: "u1", Key: "k", Keep: keep}
		return nebis.Do(t.Context(), w.stores[store], op, func(context.Context, *sql.Tx) (int64, error) {
			return w.nextID.Add(1), nil
		})
	}
	commit := w.proxy.Set(dbtest.HoldAnswer, dbtest.Commit)
	var wg sync.WaitGroup
	want := func(who string, wantID int64, wantReplayed bool, id int64, replayed bool, err error) {
		if id != wantID || replayed != wantReplayed || err != nil {
			t.Errorf("%s: answer %d, replayed %v, error %v; want %d, %v", who, id, replayed, err, wantID, wantReplayed)
		}
	}
	wg.Go(func() {
		id, replayed, err := ask(0, time.Microsecond)
		want("the first", 1, false, id, replayed, err)
	})
	<-commit.Answered()
	id, replayed, err := ask(1, time.Hour)
	want("the other process", 2, false, id, replayed, err)
	wg.Go(func() {
		id, replayed, err := ask(0, time.Microsecond)
		want("the second", 2, true, id, replayed, err)
	})
	for r := w.stores[0].Running(0); len(r) == 0 || r[0].Waiting == 0; r = w.stores[0].Running(0) {
		time.Sleep(time.Millisecond)
	}
	commit.Release()
	wg.Wait()
}

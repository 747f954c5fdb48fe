package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A JSON string, so that a Store which does not look who wrote it replays it.
const secret = `"order 1001 of 王小明 😀"`

// uuid returns a key as the old code makes them.
func uuid(kind string, n int) string {
	return fmt.Sprintf("%-8.8s-0000-4000-8000-%012d", kind+"00000000", n)
}

// someRows leaves n rows of the old code in each status.
func (s *site) someRows(n int) {
	s.Helper()
	for i := range n {
		for _, status := range []string{"processing", "done", "failed"} {
			key := uuid(status, i)
			if err := s.oldInsert(key, "order"); err != nil {
				s.Fatal(err)
			}
			switch status {
			case "done":
				s.oldDone(key, "order", secret)
			case "failed":
				s.exec("UPDATE idempotency SET status = 'failed' WHERE idem_key = '" + key + "'")
			}
		}
	}
}

// adopted returns a site whose hand-made table with some rows was taken over.
func adopted(t *testing.T, c dbtest.Config) *site {
	t.Helper()
	s := open(t, c, handMade[c.Dialect]...)
	s.someRows(2)
	s.migrate()
	return s
}

func TestNoRowIsLost(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c, handMade[c.Dialect]...)
		s.db.SetMaxOpenConns(1) // Migrate needs no second
		s.someRows(20)
		const all = "SELECT id, idem_key, scope, status, response, created_at, updated_at FROM idempotency ORDER BY id"
		before := s.table(all)
		s.migrate()
		// Another text, or pgx would use the old statement, whose types have changed.
		if after := s.table(all + " "); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		if n := strings.Count(before, "\n"); n != 60 {
			t.Errorf("%d rows", n)
		}
		if n := s.count("expires_at IS NULL OR token IS NOT NULL OR owner <> ''"); n != 0 {
			t.Errorf("%d rows are without an expiry, or not the old code's any more", n)
		}
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("the second run did %q", ran)
		}
	})
}

func TestTheOldCodeGoesOn(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		for _, key := range []string{uuid("done", 0), uuid("processing", 1), uuid("failed", 0)} {
			if err := s.oldInsert(key, "order"); !duplicate(err) {
				t.Errorf("%s twice: %v", key, err)
			}
		}
		if status, response := s.oldRead(uuid("done", 1), "order"); status != "done" || response != secret {
			t.Error(status, response)
		}
		key := uuid("new", 1)
		if err := s.oldInsert(key, "order"); err != nil {
			t.Fatal(err)
		}
		if err := s.oldInsert(key, "order"); !duplicate(err) {
			t.Errorf("twice: %v", err)
		}
		if err := s.oldInsert(key, "coupon"); err != nil {
			t.Errorf("another scope: %v", err)
		}
		s.oldDone(key, "order", secret)
		if status, response := s.oldRead(key, "order"); status != "done" || response != secret {
			t.Error(status, response)
		}
		s.oldDone(uuid("processing", 0), "order", secret) // begun before Migrate, ended after
	})
}

func TestOldRowsHoldTheirKeysForEveryOwner(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		fresh := uuid("fresh", 1)
		if err := s.oldInsert(fresh, "order"); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"u1", "u2", nebis.Anyone} {
			for key, want := range map[string]error{
				uuid("done", 0): nebis.ErrNotKept, uuid("processing", 0): nebis.ErrInProgress, fresh: nebis.ErrInProgress,
			} {
				got, ran, err := s.do(owner, key, "order")
				if !errors.Is(err, want) || ran || got != "" {
					t.Errorf("%s for %s: %q, ran %t, %v", key, owner, got, ran, err)
				}
				if err != nil && strings.Contains(err.Error(), "1001") {
					t.Errorf("the old answer is shown: %v", err)
				}
			}
		}
		if got, ran, err := s.do("u1", uuid("failed", 0), "order"); err != nil || !ran || got != "answer for u1" {
			t.Errorf("a freed key: %q, ran %t, %v", got, ran, err)
		}
		if got, ran, err := s.do("u2", uuid("failed", 0), "order"); err == nil || ran || got != "" {
			t.Errorf("another owner, while the old index stands: %q, ran %t, %v", got, ran, err)
		}
		if err := s.oldInsert(uuid("failed", 0), "order"); !duplicate(err) {
			t.Errorf("the Store's key, by the old code: %v", err)
		}
	})
}

func TestOldAndNewRaceForOneKey(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		for round := range 10 {
			key := uuid("race", round)
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i := range 6 {
				wg.Go(func() {
					var mine bool
					if i%2 == 0 {
						mine = s.oldInsert(key, "order") == nil
					} else {
						_, mine, _ = s.do("u", key, "order")
					}
					if mine {
						mu.Lock()
						defer mu.Unlock()
						won++
					}
				})
			}
			wg.Wait()
			if won != 1 {
				t.Fatalf("%d of 6 got the key", won)
			}
		}
	})
}

func TestAnOldTransactionUnderWayIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		if c.Dialect == nebis.SQLite {
			t.Skip("one writer: nothing can be under way beside")
		}
		s := adopted(t, c)
		key := uuid("slow", 1)
		tx, err := s.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(s.args(`INSERT INTO idempotency (idem_key, scope, status) VALUES (?, ?, 'processing')`), key, "order"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, _, err := nebis.Do(context.Background(), s.store, nebis.Op{Scope: "order", Owner: "u", Key: key}, func(context.Context, *sql.Tx) (string, error) {
				t.Error("ran beside the old code")
				return "", nil
			})
			done <- err
		}()
		if _, err := tx.Exec(s.args(`UPDATE idempotency SET status = 'done', response = ? WHERE idem_key = ? AND scope = ?`), secret, key, "order"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, nebis.ErrNotKept) {
			t.Error(err)
		}
	})
}

// Busy workers of the old code do not notice that the table is taken over.
func TestTakenOverUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c, handMade[c.Dialect]...)
		s.someRows(100)
		if c.Dialect == nebis.SQLite {
			s.db.SetMaxOpenConns(1) // or the old code starves, with or without Migrate
		}
		over := make(chan struct{})
		kept := make([][]string, 4)
		var wg sync.WaitGroup
		for w := range kept {
			wg.Go(func() {
				for i, more := 0, 10; more > 0; i++ {
					select {
					case <-over:
						more--
					default:
					}
					key := uuid(fmt.Sprintf("load%d", w), i)
					if err := s.oldInsert(key, "order"); err != nil {
						t.Error(err)
						return
					}
					s.oldDone(key, "order", secret)
					kept[w] = append(kept[w], key)
				}
			})
		}
		_, err := s.store.Migrate(context.Background(), false)
		close(over)
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Concat(kept...) {
			if status, response := s.oldRead(key, "order"); status != "done" || response != secret {
				t.Errorf("%s: %s %s", key, status, response)
			}
		}
		if plan := s.dryRun(); len(plan) > 1 || len(plan) == 1 && !strings.Contains(plan[0], "UPDATE") {
			t.Errorf("left over: %q", plan)
		}
	})
}

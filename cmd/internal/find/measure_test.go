package find_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/find"
)

// TestMeasureALargeTable prints how long a large table takes, and what a client
// that writes beside it feels. It judges nothing. NEBIS_FIND_ROWS=5000000 is
// what the documentation was measured with.
func TestMeasureALargeTable(t *testing.T) {
	rows, _ := strconv.Atoi(os.Getenv("NEBIS_FIND_ROWS"))
	if rows == 0 {
		t.Skip("skipped: NEBIS_FIND_ROWS is not set")
	}
	everywhere(t, func(s *shop) {
		if s.target.Dialect == nebis.SQLite {
			s.t.Skip("a file has no client beside it")
		}
		s.plant(atColumns[2], true)
		s.fill(rows)
		before := s.write(20*time.Second, nil)
		began, done := time.Now(), make(chan struct{})
		var r *find.Result
		go func() {
			defer close(done)
			var err error
			o := find.Options{Table: "orders", Same: []string{"user_id", "item", "amount"}, At: "created_at", Sum: "amount", Pause: -1, Location: time.UTC}
			if r, err = find.Run(s.t.Context(), s.target, &o); err != nil {
				s.t.Error(err)
			}
			s.t.Logf("find took %s", time.Since(began).Round(time.Second/10))
		}()
		during := s.write(time.Hour, done)
		after := s.write(20*time.Second, nil)
		if r != nil {
			s.t.Logf("%d rows, %d too many in %d groups", r.Rows, r.Surplus, r.Groups)
		}
		for name, all := range map[string][]time.Duration{"before": before, "during": during, "after": after} {
			s.t.Logf("writer %s: %s", name, percentiles(all))
		}
	})
}

// fill makes orders two seconds apart by statements of the database's own; one
// in 10,000 is the one before it once more.
func (s *shop) fill(rows int) {
	source := fmt.Sprintf("seq_1_to_%d", rows)
	n, at := "seq", "TIMESTAMPADD(SECOND, 2 * seq, '2025-01-01')"
	if s.target.Dialect == nebis.Postgres {
		source = fmt.Sprintf("generate_series(1, %d) AS g(seq)", rows)
		at = "TIMESTAMP '2025-01-01' + 2 * seq * INTERVAL '1 second'"
	}
	s.exec("INSERT INTO orders (user_id, item, amount, status, created_at) SELECT " + n + " - CASE WHEN seq % 10000 = 0 THEN 1 ELSE 0 END, 'tea', 9.90, 'paid', " + at + " FROM " + source)
	if s.target.Dialect == nebis.Postgres {
		s.exec("VACUUM ANALYZE orders")
	} else {
		s.exec("ANALYZE TABLE orders")
	}
}

// write inserts an order every few milliseconds and returns how long each took.
func (s *shop) write(during time.Duration, until <-chan struct{}) []time.Duration {
	ctx, cancel := context.WithTimeout(s.t.Context(), during)
	defer cancel()
	var all []time.Duration
	for {
		select {
		case <-ctx.Done():
			return all
		case <-until:
			return all
		case <-time.After(10 * time.Millisecond):
		}
		began := time.Now()
		s.inserted++ // another user each time, so that none of these is a duplicate
		s.insert(order{user: -s.inserted, item: "cup", amount: "1.00", status: "paid"}, "2024-01-01 00:00:00")
		all = append(all, time.Since(began))
	}
}

func percentiles(all []time.Duration) string {
	slices.Sort(all)
	at := func(p float64) time.Duration {
		return all[int(p*float64(len(all)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d writes, median %s, 95 %% %s, 99 %% %s", len(all), at(0.5), at(0.95), at(0.99))
}

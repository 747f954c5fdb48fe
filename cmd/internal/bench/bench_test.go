package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

var databases = []string{"sqlite-modernc", "mariadb-interpolate", "mariadb", "postgres-pgx", "mysql56-lockwait"}

// BenchmarkOrder places orders by a number of clients at once, in four ways by
// turns, so that what slows the machine down slows all of them. The name says
// database and clients; the metrics are nanoseconds, and allocations of the
// client, per order of each way; b.N counts turns.
func BenchmarkOrder(b *testing.B) {
	for _, name := range databases {
		b.Run(name, func(b *testing.B) {
			m := setUp(b, name)
			for _, clients := range []int{1, 8, 64} {
				b.Run(fmt.Sprint(clients), func(b *testing.B) {
					b.ReportMetric(0, "ns/op")
					takeTurns(b, clients, []way{
						{"unguarded", m.unguarded, rand.Text},
						{"naive", m.naive, rand.Text},
						{"nebis", m.guarded, rand.Text},
						{"replay", m.guarded, m.known(b)},
					})
				})
			}
		})
	}
}

// A way is a way to place an order, with a source of keys.
type way struct {
	name   string
	do     func(context.Context, string) error
	newKey func() string
}

// turn is how many orders a way places before the next has its turn.
func turn(clients int) int { return max(64, 8*clients) }

func takeTurns(b *testing.B, clients int, ways []way) {
	took, allocs := make([]time.Duration, len(ways)), make([]uint64, len(ways))
	var before, after runtime.MemStats
	for n := range b.N {
		for k := range ways {
			i := (n + k) % len(ways)
			runtime.ReadMemStats(&before)
			begun := time.Now()
			drive(b, turn(clients), clients, ways[i].newKey, ways[i].do)
			took[i] += time.Since(begun)
			runtime.ReadMemStats(&after)
			allocs[i] += after.Mallocs - before.Mallocs
		}
	}
	for i, w := range ways {
		orders := float64(b.N * turn(clients))
		b.ReportMetric(float64(took[i].Nanoseconds())/orders, w.name+"-ns")
		b.ReportMetric(float64(allocs[i])/orders, w.name+"-allocs")
	}
}

func setUp(b *testing.B, name string) *market {
	c := dbtest.Lookup(name)
	if c.Dialect == nebis.SQLite {
		c = c.With("_pragma=synchronous(NORMAL)") // what sites use with WAL
	}
	db := c.Open(b)
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(64)
	m, err := open(db, c.Dialect)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// known returns a source of keys that are done.
func (m *market) known(b *testing.B) func() string {
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = rand.Text()
		if err := m.guarded(b.Context(), keys[i]); err != nil {
			b.Fatal(err)
		}
	}
	// InnoDB needs a commit for the replay of a row that is younger than ten
	// seconds; "replay" is of older ones.
	past := map[nebis.Dialect]string{
		nebis.MySQL:    "UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE",
		nebis.Postgres: "clock_timestamp() - interval '1 minute'",
		nebis.SQLite:   "strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 minute')",
	}[m.d]
	if _, err := m.db.Exec("UPDATE idempotency SET updated_at = " + past); err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	return func() string { return keys[int(n.Add(1))%len(keys)] }
}

// drive calls do n times, by so many clients at once, each time with a key.
func drive(b *testing.B, n, clients int, newKey func() string, do func(context.Context, string) error) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(b.Context(), newKey()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

var databases = []string{"sqlite-modernc", "mariadb-interpolate", "mariadb", "postgres-pgx", "mysql56-lockwait"}

// BenchmarkOrder places orders by a number of clients at once. The name says
// database, clients, way.
func BenchmarkOrder(b *testing.B) {
	for _, name := range databases {
		b.Run(name, func(b *testing.B) {
			m := setUp(b, name)
			for _, clients := range []int{1, 8, 64} {
				b.Run(fmt.Sprint(clients), func(b *testing.B) {
					for _, way := range []struct {
						name string
						do   func(context.Context, string) error
					}{{"unguarded", m.unguarded}, {"naive", m.naive}, {"nebis", m.guarded}, {"replay", m.guarded}} {
						b.Run(way.name, func(b *testing.B) {
							newKey := rand.Text
							if way.name == "replay" {
								newKey = m.known(b)
							}
							drive(b, clients, newKey, way.do)
						})
					}
				})
			}
		})
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

// drive calls do b.N times, by so many clients at once, each time with a key.
func drive(b *testing.B, clients int, newKey func() string, do func(context.Context, string) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
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

package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// BenchmarkBystander places orders with keys of their own, in a process with a
// pool of 10, alone and beside duplicates of slow keys. The slow keys of "50"
// are held by another process: a function that is slow here holds a connection
// of this pool, with Nebis or without.
func BenchmarkBystander(b *testing.B) {
	for _, name := range []string{"mariadb-interpolate", "postgres-pgx"} {
		b.Run(name, func(b *testing.B) {
			m, holders := setUpSlow(b, name)
			b.Run("alone", func(b *testing.B) { latency(b, m) })
			b.Run("beside-1000-duplicates-of-1-slow-key", func(b *testing.B) {
				defer crowd(b, m.store, m.store, 1, 1000)()
				latency(b, m)
			})
			b.Run("beside-20-duplicates-of-50-slow-keys", func(b *testing.B) {
				defer crowd(b, holders, m.store, 50, 20)()
				latency(b, m)
			})
		})
	}
}

func setUpSlow(b *testing.B, name string) (*market, *nebis.Store) {
	c := dbtest.Lookup(name)
	dsn := c.Fresh(b)
	db := c.Pool(b, dsn)
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(10)
	m, err := open(db, c.Dialect)
	if err != nil {
		b.Fatal(err)
	}
	other := c.Pool(b, dsn)
	other.SetMaxOpenConns(60)
	holders, err := nebis.New(other, c.Dialect, nil)
	if err != nil {
		b.Fatal(err)
	}
	return m, holders
}

// crowd lets so many slow keys run in one store and sends so many duplicates of
// each to another, again and again until the function that it returns is called.
func crowd(b *testing.B, holder, waiter *nebis.Store, keys, duplicates int) (disperse func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	started := make(chan struct{})
	for range keys {
		op := nebis.Op{Scope: "slow", Owner: "buyer-1", Key: rand.Text()}
		wg.Go(func() {
			nebis.Do(ctx, holder, op, func(ctx context.Context, _ *sql.Tx) (int, error) {
				started <- struct{}{}
				<-ctx.Done()
				return 0, ctx.Err()
			})
		})
		<-started
		for range duplicates {
			wg.Go(func() { wait(ctx, b, waiter, op) })
		}
	}
	return func() { cancel(); wg.Wait() }
}

func wait(ctx context.Context, b *testing.B, s *nebis.Store, op nebis.Op) {
	for ctx.Err() == nil {
		_, _, err := nebis.Do(ctx, s, op, func(ctx context.Context, _ *sql.Tx) (int, error) { return 0, ctx.Err() })
		if err != nil && ctx.Err() == nil && !errors.Is(err, nebis.ErrInProgress) {
			b.Error(err)
		}
		if errors.Is(err, nebis.ErrInProgress) { // as a client does that obeys Retry-After
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// latency places b.N orders one after the other and reports the quantiles.
func latency(b *testing.B, m *market) {
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		begun := time.Now()
		if err := m.guarded(b.Context(), rand.Text()); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	b.StopTimer()
	slices.Sort(took)
	for _, q := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*q/101].Microseconds()), fmt.Sprintf("p%d-µs", q))
	}
}

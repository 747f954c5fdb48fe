package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// BenchmarkSweep cleans a million expired rows (NEBIS_SWEEP_ROWS says how many)
// beside 8 clients, every other of whose claims is of an expired key. The sweep
// rests for a second after every three: what slows the machine down slows both.
func BenchmarkSweep(b *testing.B) {
	for _, name := range []string{"mariadb", "postgres-pgx", "sqlite-modernc"} {
		b.Run(name, func(b *testing.B) { sweepBesideClaims(b, dbtest.Lookup(name)) })
	}
}

func sweepBesideClaims(b *testing.B, c dbtest.Config) {
	rows := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("NEBIS_SWEEP_ROWS")); err == nil {
		rows = n
	}
	db := c.Pool(b, c.Fresh(b))
	db.SetMaxOpenConns(12)
	db.SetMaxIdleConns(12)
	m, err := open(db, c.Dialect)
	if err != nil {
		b.Fatal(err)
	}
	expire(b, m, rows)
	cl := &claimants{store: m.store, rows: rows}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ResetTimer()
	cl.start(ctx, b)
	time.Sleep(time.Second) // to warm up
	cl.phase.Store(alone)
	done, busy := sweepByTurns(b, cl)
	cancel()
	cl.wg.Wait()
	b.StopTimer()
	cl.report(b)
	b.ReportMetric(float64(done.Rows), "rows")
	b.ReportMetric(float64(done.Rows)/busy.Seconds(), "rows/s")
	b.ReportMetric(float64(done.Rows/max(done.Batches, 1)), "rows/batch")
	b.ReportMetric(0, "ns/op")
}

// sweepByTurns sweeps three seconds in four, and tells how long that was in all.
func sweepByTurns(b *testing.B, cl *claimants) (nebis.Swept, time.Duration) {
	var busy time.Duration
	begun := time.Now()
	halt := func() {
		busy += time.Since(begun)
		cl.phase.Store(alone)
		time.Sleep(time.Second)
		cl.phase.Store(beside)
		begun = time.Now()
	}
	halt()
	busy, begun = 0, time.Now()
	done, err := cl.store.Sweep(b.Context(), &nebis.SweepOptions{Progress: func(nebis.Swept) {
		if time.Since(begun) > 3*time.Second {
			halt()
		}
	}})
	if err != nil {
		b.Error(err)
	}
	return done, busy + time.Since(begun)
}

// expire fills the key table with rows that have expired.
func expire(b *testing.B, m *market, rows int) {
	at := map[nebis.Dialect]string{
		nebis.MySQL:    "UTC_TIMESTAMP(6) - INTERVAL %d MICROSECOND",
		nebis.Postgres: "clock_timestamp() - %d * interval '1 microsecond'",
		nebis.SQLite:   "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-1 hour', '-' || (%d / 1000000.0) || ' seconds')",
	}[m.d]
	response := `{"status":201,"header":{"Content-Type":["application/json"]},"body":"` + strings.Repeat("x", 200) + `"}`
	for from := 0; from < rows; from += 1000 {
		var v strings.Builder
		for i := from; i < min(from+1000, rows); i++ {
			fmt.Fprintf(&v, ",('%s', 'order', 'buyer-1', 'done', 'f:1', '%s', '%s', "+at+")", expiredKey(i), rand.Text(), response, 1000*(rows-i))
		}
		if _, err := m.db.Exec("INSERT INTO idempotency (idem_key, scope, owner, status, fingerprint, token, response, expires_at) VALUES " + v.String()[1:]); err != nil {
			b.Fatal(err)
		}
	}
}

// expiredKey is scattered over the index, as keys made at random are.
func expiredKey(i int) string { return fmt.Sprintf("%08x-%d", uint32(i)*2654435761, i) }

// The phases.
const (
	warm = iota
	alone
	beside
)

// claimants are clients that claim keys one after the other.
type claimants struct {
	store *nebis.Store
	rows  int
	phase atomic.Int32
	wg    sync.WaitGroup
	mu    sync.Mutex
	took  [3][]time.Duration
}

func (cl *claimants) start(ctx context.Context, b *testing.B) {
	for range 8 {
		cl.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := rand.Text()
				if n%2 == 0 {
					key = expiredKey(mathrand.IntN(cl.rows))
				}
				cl.claim(ctx, b, key)
			}
		})
	}
}

func (cl *claimants) claim(ctx context.Context, b *testing.B, key string) {
	phase, begun := cl.phase.Load(), time.Now()
	_, _, err := nebis.Do(context.WithoutCancel(ctx), cl.store, nebis.Op{Scope: "order", Owner: "buyer-1", Key: key, Fingerprint: "f:1"},
		func(context.Context, *sql.Tx) (answer, error) { return accepted, nil })
	took := time.Since(begun)
	if err != nil {
		b.Error(err)
	}
	if cl.phase.Load() != phase {
		return // began in one, ended in the other
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.took[phase] = append(cl.took[phase], took)
}

func (cl *claimants) report(b *testing.B) {
	var p99 [3]time.Duration
	for phase, name := range []string{alone: "alone", beside: "beside"} {
		took := cl.took[phase]
		if phase == warm || len(took) == 0 {
			continue
		}
		slices.Sort(took)
		p99[phase] = took[len(took)*99/100]
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(p99[phase].Microseconds()), name+"-p99-µs")
		b.ReportMetric(float64(took[len(took)-1].Microseconds()), name+"-max-µs")
		b.ReportMetric(float64(len(took)), name+"-claims")
	}
	b.ReportMetric(float64(p99[beside])/float64(max(p99[alone], 1)), "p99-ratio")
}

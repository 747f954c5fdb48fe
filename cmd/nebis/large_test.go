package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/metrics"
)

var large = flag.Int("rows", 0, "with what is done on a table of so many rows, timed: docs/performance.md")

// What sites and people do on a large table beside an empty one, and how long it
// takes: figures, no assertion.
func TestALargeTable(t *testing.T) {
	if *large == 0 {
		t.Skip("skipped: without -rows")
	}
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		for _, n := range []int{0, *large} {
			if n > 0 {
				began := time.Now()
				k.fill(n)
				t.Logf("%d rows: filled in %v", n, time.Since(began).Round(time.Second))
			}
			k.timeCalls(n)
			k.timeScrapes(n)
			for _, args := range []string{"list --limit 50", "list --status unknown", "list --scope none", "stats", "check --budget 10m"} {
				began := time.Now()
				code, stdout, stderr := k.call(strings.Fields(args)...)
				t.Logf("%d rows, nebis %s: %v", n, args, time.Since(began).Round(time.Millisecond))
				if code == 2 || stderr != "" {
					t.Errorf("exit %d: %s%s", code, stdout, stderr)
				}
			}
		}
	})
}

// timeCalls times a first try, its replay, and a key that another process has done.
func (k *keyed) timeCalls(rows int) {
	other, err := nebis.New(k.db, k.store.Dialect(), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	run, replayed := 0, 0
	call := func(s *nebis.Store, key int) {
		// Anywhere in the index.
		op := nebis.Op{Scope: "order", Owner: nebis.Anyone, Key: fmt.Sprintf("%08x-%d", uint32(key*2654435761), key)}
		_, again, err := nebis.Do(k.t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return key, nil })
		if err != nil {
			k.t.Error(err)
		}
		run++
		if again {
			replayed++
		}
	}
	k.time(rows, "claims", 2000, func(i int) { call(k.store, rows+i) })
	k.time(rows, "replays", 2000, func(i int) { call(k.store, rows+i) })
	k.time(rows, "replays, another process's keys", 2000, func(i int) { call(other, rows+i) })
	if run != 6000 || replayed != 4000 {
		k.t.Errorf("%d calls, %d replays", run, replayed)
	}
}

// timeScrapes has the gauges ask the database at each scrape, which they do every 15
// seconds at most.
func (k *keyed) timeScrapes(rows int) {
	m, err := newInstruments()
	if err == nil {
		err = m.Watch(k.db, k.store, &metrics.WatchOptions{Every: 1})
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.time(rows, "scrapes that ask the database", 20, func(int) {
		if _, err := m.reg.Gather(); err != nil {
			k.t.Error(err)
		}
	})
}

func (k *keyed) time(rows int, what string, n int, f func(int)) {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		f(i)
		took[i] = time.Since(began).Round(time.Microsecond)
	}
	slices.Sort(took)
	k.t.Logf("%d rows, %d %s: median %v, 99%% %v, slowest %v", rows, n, what, took[n/2], took[n*99/100], took[n-1])
}

// fill puts rows in that are done, a million at a time.
func (k *keyed) fill(rows int) {
	const some = 1000000
	for from := 0; from < rows; from += some {
		n := strconv.Itoa(min(some, rows-from))
		i := "(i + " + strconv.Itoa(from) + ")"
		columns := "INSERT INTO idempotency (idem_key, scope, owner, status, token, fingerprint, response, expires_at) SELECT "
		values := ", CASE WHEN i % 4 = 1 THEN 'pay' ELSE 'order' END, '*', 'done', 't', 'v1:x', '{\"id\":1}', "
		k.exec(map[nebis.Dialect]string{
			nebis.SQLite: columns + "printf('%08x', " + i + " * 2654435761 % 4294967296) || " + i + values +
				"strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 day') FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + n + ") SELECT i FROM n)",
			nebis.Postgres: columns + "to_hex(" + i + "::bigint * 2654435761 % 4294967296) || " + i + values + "clock_timestamp() + interval '1 day' FROM generate_series(1, " + n + ") AS g(i)",
			nebis.MySQL: columns + "CONCAT(HEX(" + i + " * 2654435761 % 4294967296), " + i + ")" + values +
				"UTC_TIMESTAMP(6) + INTERVAL 1 DAY FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS i FROM " +
				digits("a") + digits("b") + digits("c") + digits("e") + digits("f") + strings.TrimSuffix(digits("g"), ", ") + ") AS x WHERE i <= " + n,
		}[k.store.Dialect()])
	}
}

func digits(name string) string {
	return "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS " + name + ", "
}

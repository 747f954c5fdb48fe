package main

import (
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

var large = flag.Int("rows", 0, "with the commands on a table of so many rows, timed: docs/performance.md")

// What people run on a large table, and how long it takes: figures, no assertion.
func TestCommandsOnALargeTable(t *testing.T) {
	if *large == 0 {
		t.Skip("skipped: without -rows")
	}
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		for _, n := range []int{0, *large} {
			if n > 0 {
				k.fill(n)
			}
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

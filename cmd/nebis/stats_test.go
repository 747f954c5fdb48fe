package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

func (k *keyed) stats(args ...string) numbers {
	k.t.Helper()
	code, stdout, stderr := k.call(append([]string{"stats", "--json"}, args...)...)
	var n numbers
	if err := json.Unmarshal([]byte(stdout), &n); err != nil || code != 0 {
		k.t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	return n
}

func TestStatsOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		if n := k.stats(); n.Rows != 0 || n.Oldest != nil || !n.Migrated || n.Bytes == 0 {
			t.Errorf("empty: %+v", n)
		}
		k.lease(nebis.Anyone, "old", nil)
		k.shift(72, "created_at", "expires_at")
		k.lease(nebis.Anyone, "a", nil)
		k.lease(nebis.Anyone, "b", nil)
		k.lease(nebis.Anyone, "c", errors.New("the line broke"))
		k.exec("INSERT INTO idempotency (idem_key, scope, owner, token, lease_until) SELECT 'runs', 'pay', '*', 't', expires_at FROM idempotency WHERE idem_key = 'a'")
		n := k.stats()
		got := fmt.Sprintln(n.Rows, n.About, n.Expired, n.Lagging, len(n.Unknown), n.Oldest.Key, n.All, len(n.Held), n.Table, n.Groups)
		want := "5 false 1 1 1 c true 0 idempotency " + fmt.Sprint([]keytable.Group{{Scope: "order", State: "done", Rows: 2},
			{Scope: "order", State: "expired", Rows: 1}, {Scope: "order", State: "unknown", Rows: 1}, {Scope: "pay", State: "in progress", Rows: 1}}) + "\n"
		if got != want {
			t.Errorf("%s, wanted %s", got, want)
		}
		k.want(0, "1: nebis list --status unknown shows them", "stats")
		k.want(0, "1, 1 of them for more than a day: run nebis clean", "stats")
	})
}

// hold keeps a transaction with a claim open while look runs.
func (k *keyed) hold(look func()) {
	k.t.Helper()
	_, _, err := nebis.Do(k.t.Context(), k.store, nebis.Op{Scope: "order", Owner: "ann", Key: "held-secret"}, func(context.Context, *sql.Tx) (int, error) {
		look()
		return 1, nil
	})
	if err != nil {
		k.t.Error(err)
	}
}

func TestStatsNamesATransactionThatHoldsAKey(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.hold(func() {
			n := k.stats("--stuck-after", "1ms")
			if len(n.Held) != 1 {
				t.Errorf("%+v", n)
			}
			code, stdout, _ := k.call("stats", "--stuck-after", "1ms")
			if code != 0 || !strings.Contains(stdout, "connection") || strings.Contains(stdout, "held-secret") {
				t.Errorf("exit %d: %s", code, stdout)
			}
		})
		if n := k.stats("--stuck-after", "1ms"); len(n.Held) != 0 {
			t.Errorf("after its end: %+v", n)
		}
	})
}

// A large table is estimated, and the estimate is near.
func TestStatsOfALargeTableIsAboutRight(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.exec(`INSERT INTO idempotency (id, idem_key, scope, owner, status, token) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
SELECT i + i / 3, 'k' || i, CASE WHEN i % 4 = 1 THEN 'pay' ELSE 'order' END, '*', 'done', 't' FROM n`)
	n := k.stats()
	if !n.About || n.Rows < 290000 || n.Rows > 310000 || len(n.Groups) != 2 || n.Groups[1].Rows < 70000 || n.Groups[1].Rows > 80000 {
		t.Errorf("%+v", n.Stats)
	}
	k.want(0, "about ", "stats")
}

func TestExitCodesOfStats(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.want(1, "there is no table keys", "stats", "--table", "keys")
	k.want(2, "--stuck-after", "stats", "--stuck-after", "-1s")
	k.want(2, "--db or NEBIS_DB", "stats", "--db", "")
	k.want(0, "nebis stats --db", "stats", "--help")
}

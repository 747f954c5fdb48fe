package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// shift moves a row's times back, on every database.
func (k *keyed) shift(hours int, columns ...string) {
	k.t.Helper()
	for _, c := range columns {
		later := map[nebis.Dialect]string{
			nebis.MySQL:    fmt.Sprintf("%s - INTERVAL %d HOUR", c, hours),
			nebis.Postgres: fmt.Sprintf("%s - INTERVAL '%d hours'", c, hours),
			nebis.SQLite:   fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', %s, '-%d hours')", c, hours),
		}[k.store.Dialect()]
		if _, err := k.db.Exec("UPDATE " + k.store.Table() + " SET " + c + " = " + later); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *keyed) exec(query string) {
	k.t.Helper()
	if _, err := k.db.Exec(query); err != nil {
		k.t.Fatalf("%v: %s", err, query)
	}
}

// listed returns the keys that list finds, in its order.
func (k *keyed) listed(args ...string) string {
	k.t.Helper()
	code, stdout, stderr := k.call(append([]string{"list", "--json"}, args...)...)
	if code != 0 || stderr != "" {
		k.t.Fatalf("exit %d, %s", code, stderr)
	}
	var keys []string
	for line := range strings.Lines(stdout) {
		_, rest, _ := strings.Cut(line, `"key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		keys = append(keys, key)
	}
	return strings.Join(keys, " ")
}

func TestListOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease(nebis.Anyone, "old", nil)
		k.shift(48, "created_at", "expires_at")
		k.lease(nebis.Anyone, "done", nil)
		k.lease("ann", "lost", errors.New("the line broke"))
		k.lease("ann", "free", nebis.NotDone(nil))
		k.exec("INSERT INTO idempotency (idem_key, scope, owner) VALUES ('oldcode', 'pay', '')")
		for _, c := range []struct{ keys, args string }{
			{"oldcode free lost done old", ""},
			{"old done lost free oldcode", "--oldest"},
			{"oldcode free", "--limit 2"},
			{"lost", "--status unknown"},
			{"old", "--status expired"},
			{"done", "--status done"},
			{"free", "--status failed"},
			{"oldcode", "--status processing"},
			{"oldcode", "--scope pay"},
			{"free lost", "--owner ann"},
			{"done old", "--owner *"},
			{"old", "--older-than 24h"},
			{"free lost done", "--since 24h --scope order"},
			{"old", "--older-than 1d --status expired --scope order"},
		} {
			if got := k.listed(strings.Fields(c.args)...); got != c.keys {
				t.Errorf("list %s: %s, wanted %s", c.args, got, c.keys)
			}
		}
		k.want(0, "the line broke", "list", "--status", "unknown")
	})
}

// Pages follow each other without a gap, through more rows than one look takes.
func TestListGoesThroughManyRowsPageByPage(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.exec(`INSERT INTO idempotency (idem_key, scope, owner, status, token) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
SELECT 'k' || i, CASE WHEN i % 5000 = 1 THEN 'rare' ELSE 'order' END, '*', 'done', 't' FROM n`)
	if got := k.listed("--scope", "rare"); got != "k15001 k10001 k5001 k1" {
		t.Error(got)
	}
	code, stdout, _ := k.call("list", "--scope", "rare", "--limit", "2")
	if code != 0 || !strings.Contains(stdout, "--after 10001") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if got := k.listed("--scope", "rare", "--limit", "2", "--after", "10001"); got != "k5001 k1" {
		t.Error(got)
	}
	if got := k.listed("--scope", "rare", "--limit", "2", "--after", "5001", "--oldest"); got != "k10001 k15001" {
		t.Error(got)
	}
	k.want(0, "Looked at 20,000 rows, to the end.", "list", "--scope", "none")
}

func TestListOfATableThatIsNotMigratedYet(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "other")
		id := map[nebis.Dialect]string{nebis.MySQL: "BIGINT AUTO_INCREMENT PRIMARY KEY", nebis.Postgres: "BIGSERIAL PRIMARY KEY", nebis.SQLite: "INTEGER PRIMARY KEY"}[k.store.Dialect()]
		k.exec("CREATE TABLE idempotency (id " + id + ", idem_key CHAR(36) NOT NULL, scope VARCHAR(32) NOT NULL, status VARCHAR(16) NOT NULL, response TEXT, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)")
		k.exec("INSERT INTO idempotency (idem_key, scope, status) VALUES ('a', 'order', 'done'), ('b', 'order', 'processing')")
		if got := strings.ReplaceAll(k.listed("--status", "processing"), "  ", ""); strings.TrimSpace(got) != "b" {
			t.Errorf("%q", got)
		}
		k.want(0, "is not migrated yet", "list", "--older-than", "30d")
		k.want(1, "no column owner", "list", "--owner", "ann")
	})
}

func TestExitCodesOfList(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	long := strings.Repeat("k", 36)
	k.lease(nebis.Anyone, long, nil)
	for _, c := range []struct {
		code int
		says string
		args string
	}{
		{0, "kkkkkkkkkkkk…", "list"},
		{0, long, "list --keys"},
		{0, "no keys", "list --status expired"},
		{1, "there is no table keys", "list --table keys"},
		{2, "--status", "list --status running"},
		{2, "--limit", "list --limit 0"},
		{2, "--after", "list --after -1"},
		{2, "--since", "list --since yesterday"},
		{2, "--older-than", "list --older-than -1h"},
		{2, "takes no arguments", "list k"},
		{2, "--table", "list --table a.b.c"},
		{0, "nebis list --db", "list --help"},
	} {
		k.want(c.code, c.says, strings.Fields(c.args)...)
	}
}

// Who stops a long walk gets what was found, and where to go on.
func TestListThatIsStoppedSaysHowFarItCame(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.exec(`INSERT INTO idempotency (idem_key, scope, owner, status, token) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
SELECT 'k' || i, CASE i WHEN 20000 THEN 'rare' ELSE 'order' END, '*', 'done', 't' FROM n`)
	table, err := keytable.Look(t.Context(), k.db, nebis.SQLite, "idempotency")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	page, err := table.Find(ctx, keytable.Query{Filter: keytable.Filter{Scope: "rare"}, Limit: 2, Progress: func(int) { stop() }})
	if !errors.Is(err, context.Canceled) || len(page.Rows) != 1 || page.Last != 18001 || page.Looked != 2000 {
		t.Errorf("%v, %+v", err, page)
	}
}

package main

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

func TestMigrateOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		db, _ := dburltest.Open(t, url)
		if err := db.Ping(); err != nil { // which makes SQLite's file
			t.Fatal(err)
		}
		k := &keyed{t: t, url: url, db: db}
		status := func(code int, says string) {
			t.Helper()
			if got, stdout, stderr := k.call("migrate", "status", "--for", "all"); got != code || !strings.Contains(stdout, says) || stderr != "" {
				t.Errorf("exit %d, wanted %d with %q\n%s%s", got, code, says, stdout, stderr)
			}
		}
		status(1, "no-table")
		k.want(0, "CREATE TABLE", "migrate", "sql")
		k.want(0, "CREATE TABLE", "migrate", "sql", "--for", "all")
		tables := []string{"idempotency", "outbox", "idempotency_failures", "idempotency_hourly"}
		for _, table := range tables {
			if _, err := db.Exec("SELECT 1 FROM " + table); err == nil {
				t.Errorf("a dry run has made the table %s", table)
			}
		}
		var all sync.WaitGroup
		for range 8 { // at once
			all.Go(func() { k.want(0, "table outbox", "migrate", "up", "--for", "all") })
		}
		all.Wait()
		status(0, "(hourly counts, for nebis check): nothing to do")
		code, stdout, _ := k.call("migrate", "up", "--for", "all", "--json")
		var steps []step
		if err := json.Unmarshal([]byte(stdout), &steps); err != nil || code != 0 || len(steps) != 4 || !steps[0].UpToDate {
			t.Errorf("exit %d, %v: %s", code, err, stdout)
		}
		for _, table := range tables {
			if _, err := db.Exec("SELECT * FROM " + table); err != nil {
				t.Error(err)
			}
		}
	})
}

// What schema prints is what migrate would do.
func TestASchemaCanBeRunByHand(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "other")
		code, stdout, _ := call(t, nil, "schema", "--dialect", k.store.Dialect().String(), "--for", "all", "--json")
		var texts []schemaText
		if err := json.Unmarshal([]byte(stdout), &texts); err != nil || code != 0 || len(texts) != 4 {
			t.Fatalf("exit %d, %v: %s", code, err, stdout)
		}
		for _, text := range texts {
			for statement := range strings.SplitSeq(text.SQL, ";\n") {
				if strings.TrimSpace(statement) != "" {
					if _, err := k.db.Exec(statement); err != nil {
						t.Errorf("%v: %s", err, statement)
					}
				}
			}
		}
		if code, stdout, _ := k.call("migrate", "status", "--for", "all"); code != 0 {
			t.Errorf("exit %d: %s", code, stdout)
		}
	})
}

func TestExitCodesOfSchemaMigrateAndCompletion(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "CREATE TABLE IF NOT EXISTS `shop`.`keys`", []string{"schema", "--dialect", "mariadb", "--table", "shop.keys"}},
		{0, `"keys_hourly"`, []string{"schema", "--dialect", "postgresql", "--table", "keys", "--for", "hourly"}},
		{0, `"calls"`, []string{"schema", "--dialect", "sqlite", "--table", "calls", "--for", "outbox"}},
		{2, "--dialect", []string{"schema"}},
		{2, "oracle", []string{"schema", "--dialect", "oracle"}},
		{2, "--for", []string{"schema", "--dialect", "mysql", "--for", "everything"}},
		{2, "--table", []string{"schema", "--dialect", "mysql", "--table", "no such"}},
		{2, "status, sql or up", []string{"migrate"}},
		{2, "no command", []string{"migrate", "down"}},
		{0, "table idempotency in " + k.url, []string{"migrate", "status"}},
		{2, "nowhere.db", []string{"migrate", "status", "--db", "sqlite:/nowhere.db"}},
		{2, "--table", []string{"migrate", "status", "--table", "no such"}},
		{0, "__start_nebis", []string{"completion", "bash"}},
		{0, "#compdef nebis", []string{"completion", "zsh"}},
		{0, "fish completion", []string{"completion", "fish"}},
		{0, "completion", []string{"--help"}},
	} {
		k.want(c.code, c.says, c.args...)
	}
}

// Where no table is named and only the demo's is there, it is meant.
func TestTheDemosTableIsFound(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "nebis_demo_idempotency")
		k.lease(nebis.Anyone, "k", nil)
		k.want(0, "table nebis_demo_idempotency in", "migrate", "status")
		k.want(0, "nebis_demo_idempotency", "show", "--scope", "order", "k")
		newKeyed(t, url, "")
		k.want(0, "table idempotency in", "migrate", "status")
	})
}

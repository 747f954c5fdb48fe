package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// dusty is a database with so many expired keys, and one that has not.
func dusty(t *testing.T, url, table string, expired int) *sql.DB {
	t.Helper()
	db, target := dburltest.Open(t, url)
	store, err := nebis.New(db, target.Dialect, &nebis.Options{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range expired {
		rows = append(rows, fmt.Sprintf("('old%d', 'order', 'u', 'done', 't', '2001-01-01 00:00:00')", i))
	}
	rows = append(rows, "('fresh', 'order', 'u', 'done', 't', '2101-01-01 00:00:00')")
	if _, err := db.Exec("INSERT INTO " + table + " (idem_key, scope, owner, status, token, expires_at) VALUES " + strings.Join(rows, ", ")); err != nil {
		t.Fatal(err)
	}
	return db
}

func rowsLeft(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM " + table + " WHERE scope = 'order'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCleanRemovesWhatHasExpired(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		db := dusty(t, url, "shop_keys", 1234)
		for _, c := range []struct {
			args []string
			says string
			left int
		}{
			{[]string{"--dry-run"}, "1,234 rows would be removed", 1235},
			{[]string{"--dry-run", "--older-than", "876000h"}, ": 0 rows would be removed", 1235},
			{[]string{"--batch", "100"}, "1,234 rows removed in ", 1},
			{nil, "0 rows removed in ", 1},
		} {
			code, stdout, stderr := call(t, map[string]string{"NEBIS_DB": url}, append([]string{"clean", "--table", "shop_keys"}, c.args...)...)
			if left := rowsLeft(t, db, "shop_keys"); code != 0 || stderr != "" || !strings.Contains(stdout, c.says) || left != c.left {
				t.Errorf("clean %v: exit %d, %d left, %s%s", c.args, code, left, stdout, stderr)
			}
		}
	})
}

func TestCleanAsJSON(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	dusty(t, url, "idempotency", 7)
	for _, args := range [][]string{{"--dry-run"}, nil} {
		var c cleaned
		code, stdout, stderr := call(t, nil, append([]string{"clean", "--db", url, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != 0 || c.Rows != 7 || c.DryRun != (args != nil) || stderr != "" {
			t.Errorf("exit %d, %s, %v, %s", code, stdout, err, stderr)
		}
	}
}

// As every command: without --table, the demo's where only that is there.
func TestCleanTakesTheTableThatIsThere(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "demo.db")
	db := dusty(t, url, "nebis_demo_idempotency", 7)
	code, stdout, stderr := call(t, nil, "clean", "--db", url)
	if left := rowsLeft(t, db, "nebis_demo_idempotency"); code != 0 || left != 1 || !strings.Contains(stdout, "nebis_demo_idempotency") {
		t.Errorf("exit %d, %d left: %s%s", code, left, stdout, stderr)
	}
}

func TestCleanRefusesWhatItCannotDo(t *testing.T) {
	old := "sqlite:" + filepath.Join(t.TempDir(), "old.db")
	db, _ := dburltest.Open(t, old)
	if _, err := db.Exec("CREATE TABLE idempotency (id INTEGER PRIMARY KEY, idem_key TEXT, scope TEXT, status TEXT, response TEXT, created_at TEXT, UNIQUE (idem_key, scope))"); err != nil {
		t.Fatal(err)
	}
	busy := "sqlite:" + filepath.Join(t.TempDir(), "busy.db")
	_, err := dusty(t, busy, "idempotency", 1).Exec("INSERT INTO idempotency (idem_key, scope, owner, status, token, lease_until) VALUES ('sweep', 'nebis.sweep', '*', 'done', 'other', '2101-01-01 00:00:00')")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--db or NEBIS_DB"},
		{[]string{"--db", old, "--batch", "0"}, "--batch 0"},
		{[]string{"--db", old, "--pause", "-1s"}, "--pause"},
		{[]string{"--db", old, "--older-than", "-1s"}, "--older-than"},
		{[]string{"--db", old, "now"}, "takes no arguments"},
		{[]string{"--db", old, "--table", "a b"}, "--table"},
		{[]string{"--db", old}, "not migrated"},
		{[]string{"--db", old, "--dry-run"}, "not migrated"},
		{[]string{"--db", old, "--table", "none"}, "none in sqlite:"},
		{[]string{"--db", busy}, "another clean-up runs"},
	} {
		code, stdout, stderr := call(t, nil, append([]string{"clean"}, c.args...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("clean %v: exit %d, %s%s", c.args, code, stdout, stderr)
		}
	}
}

func TestCleanStopsAfterTheBatchAndSaysHowFarItCame(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	db := dusty(t, url, "idempotency", 30)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// Seen by the first batch that is there, and not sooner.
	if _, err := db.Exec("CREATE TABLE gone (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TRIGGER goes AFTER DELETE ON idempotency BEGIN INSERT INTO gone VALUES (old.id); END"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for n := 0; n == 0 && ctx.Err() == nil; {
			_ = db.QueryRow("SELECT COUNT(*) FROM gone").Scan(&n)
		}
		stop()
	}()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"clean", "--db", url, "--batch", "10", "--pause", "1h"}, func(string) string { return "" }, &stdout, &stderr)
	if left := rowsLeft(t, db, "idempotency"); code != 130 || left != 21 || !strings.Contains(stdout.String(), "stopped before the end: 10 rows removed") || stderr.String() != "" {
		t.Errorf("exit %d, %d left, %s%s", code, left, stdout.String(), stderr.String())
	}
}

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// A keyed database has a key table with one key in it for each state.
type keyed struct {
	t     *testing.T
	url   string
	db    *sql.DB
	store *nebis.Store
}

func newKeyed(t *testing.T, url, table string) *keyed {
	t.Helper()
	db, target := dburltest.Open(t, url)
	k := &keyed{t: t, url: url, db: db}
	var err error
	if k.store, err = nebis.New(k.db, target.Dialect, &nebis.Options{Table: table}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.store.Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return k
}

// lease leaves a key behind that ended with an error; nil: it is done.
func (k *keyed) lease(owner, key string, ends error) {
	k.t.Helper()
	op := nebis.Op{Scope: "order", Owner: owner, Key: key}
	_, _, err := nebis.Lease(k.t.Context(), k.store, op, nil, func(context.Context) (json.RawMessage, error) {
		return json.RawMessage(`{"status":201,"header":{"Location":["/orders/1"]},"body":"s3cret body"}`), ends
	})
	if ends == nil && err != nil || ends != nil && err == nil {
		k.t.Fatal(err)
	}
}

// call runs a command on the database.
func (k *keyed) call(args ...string) (code int, stdout, stderr string) {
	k.t.Helper()
	return call(k.t, map[string]string{"NEBIS_DB": k.url}, args...)
}

// want runs a command and wants its exit code and texts of it.
func (k *keyed) want(code int, says string, args ...string) {
	k.t.Helper()
	got, stdout, stderr := k.call(args...)
	if got != code || !strings.Contains(stdout+stderr, says) || code == 0 && stderr != "" || code != 0 && stdout != "" {
		k.t.Errorf("nebis %s: exit %d, wanted %d with %q\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, code, says, stdout, stderr)
	}
}

func (k *keyed) show(owner, key string, more ...string) shownKey {
	k.t.Helper()
	args := append([]string{"show", "--scope", "order", "--json", key}, more...)
	if owner != nebis.Anyone {
		args = append(args, "--owner", owner)
	}
	code, stdout, stderr := k.call(args...)
	var v shownKey
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		k.t.Fatalf("exit %d, %v, %s%s", code, err, stdout, stderr)
	}
	return v
}

func TestAPersonLooksAfterAKeyOnEveryDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease("李", "k", errors.New("the line broke"))
		key := []string{"--scope", "order", "--owner", "李", "k"}
		k.want(0, "unknown: it may or may not have happened", append([]string{"show"}, key...)...)
		if code, stdout, _ := k.call(append([]string{"show"}, key...)...); code != 0 || !strings.Contains(stdout, "the line broke") {
			t.Errorf("exit %d, %s", code, stdout)
		}
		k.want(0, "unknown → free", append([]string{"resolve", "--free", "--reason", "银行说没有 😀"}, key...)...)
		k.lease("李", "k", errors.New("again"))
		k.want(0, "unknown → done", append([]string{"resolve", "--done", "--location", "/orders/7", "--reason", "it's there"}, key...)...)
		k.want(0, "done → free", append([]string{"release", "--reason", "cancelled"}, key...)...)
		got := k.show("李", "k")
		if got.State != nebis.StateFree || got.Attempts != 2 || len(got.Decisions) != 3 {
			t.Fatalf("%+v", got)
		}
		for i, want := range []string{"resolve unknown free 银行说没有 😀", "resolve unknown done it's there", "release done free cancelled"} {
			d := got.Decisions[i]
			if s := strings.Join([]string{d.Action, d.Before, d.After, d.Reason}, " "); s != want || d.By == "" || d.At.IsZero() {
				t.Errorf("decision %d: %+v, want %s", i, d, want)
			}
		}
		if d := got.Decisions[2].At.Sub(got.UpdatedAt).Abs(); d.Hours() > 0.5 {
			t.Errorf("two clocks: %v apart", d)
		}
		k.want(0, `free, "银行说没有 😀"`, append([]string{"show"}, key...)...)
	})
}

// The record and the change commit together: without the one there is not the
// other.
func TestWithoutARecordNothingIsChanged(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "shop_keys")
		k.lease(nebis.Anyone, "k", errors.New("the line broke"))
		if _, err := k.db.Exec("CREATE TABLE shop_keys_audit (id INTEGER)"); err != nil { // somebody else's
			t.Fatal(err)
		}
		k.want(1, "shop_keys_audit", "resolve", "--table", "shop_keys", "--scope", "order", "k", "--free", "--reason", "no")
		if e, err := k.store.Look(t.Context(), "order", nebis.Anyone, "k"); err != nil || e.State != nebis.StateUnknown {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestExitCodesOfShowResolveAndRelease(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.lease(nebis.Anyone, "unknown", errors.New("why\x1b[31m"))
	k.lease(nebis.Anyone, "done", nil)
	k.lease(nebis.Anyone, "free", nebis.NotDone(nil))
	k.lease("ann", "anns", nil)
	if _, err := k.db.Exec("INSERT INTO idempotency (idem_key, scope, owner, token, lease_until) VALUES ('runs', 'order', '*', 't', '2999-01-01 00:00:00'), ('old', 'order', '', NULL, NULL)"); err != nil {
		t.Fatal(err)
	}
	resolve := func(key string, more ...string) []string {
		return append([]string{"resolve", "--scope", "order", key}, more...)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", "--scope", "order", "unknown"}, 0, "unknown"},
		{[]string{"show", "--scope", "order", "done"}, 0, "201 to /orders/1"},
		{[]string{"show", "--scope", "order", "--owner", "*", "done"}, 0, "201 to /orders/1"},
		{[]string{"show", "--scope", "order", "--full", "done"}, 0, "s3cret body"},
		{[]string{"show", "--scope", "order", "anns"}, 1, `no key "anns"`},
		{[]string{"show", "--scope", "pay", "anns"}, 1, "the key is there with --scope 'order' --owner 'ann'"},
		{[]string{"release", "--scope", "order", "--owner", "bob", "anns", "--reason", "r"}, 1, "--scope 'order' --owner 'ann'"},
		{[]string{"show", "--scope", "order", "--owner", "ann", "anns"}, 0, "done"},
		{[]string{"show", "--scope", "order", "--table", "keys", "anns"}, 1, "keys"},
		{[]string{"show", "--scope", "order", "--table", "no such", "anns"}, 2, "--table"},
		{[]string{"show", "--scope", "order"}, 2, "needs the key"},
		{[]string{"show", "--scope", "order", "a", "b"}, 2, `"b" is too much`},
		{[]string{"show", "--scope", "order", "a b"}, 2, "key of 3 bytes"},
		{[]string{"show", "--scope", "order", "--owner", "", "a"}, 2, "owner is empty"},
		{[]string{"show", "k"}, 2, "--scope"},
		{[]string{"show", "--db", "oracle://x/y", "--scope", "order", "k"}, 2, "oracle"},
		{[]string{"show", "--db", "mysql://ann:s3cret@127.0.0.1:1/shop", "--scope", "order", "k"}, 1, "mysql://ann@127.0.0.1:1/shop"},
		{[]string{"show", "--help"}, 0, "Exit code: 0 shown"},
		{resolve("none", "--free", "--reason", "r"), 1, `no key "none"`},
		{resolve("done", "--free", "--reason", "r"), 1, "is done: only what is unknown"},
		{resolve("free", "--free", "--reason", "r"), 1, "is free: there is nothing to do"},
		{resolve("runs", "--free", "--reason", "r"), 1, "is in progress, its lease runs until 2999"},
		{resolve("old", "--free", "--reason", "r"), 1, "is in progress; wait"},
		{resolve("unknown"), 2, "either --done or --free"},
		{resolve("unknown", "--done", "--free", "--reason", "r"), 2, "either --done or --free"},
		{resolve("unknown", "--free"), 2, "--reason"},
		{resolve("unknown", "--free", "--reason", " "), 2, "--reason"},
		{resolve("unknown", "--free", "--status", "200", "--reason", "r"), 2, "--free has no answer"},
		{resolve("unknown", "--done", "--status", "303", "--reason", "r"), 2, "--location says to which"},
		{resolve("unknown", "--done", "--status", "99", "--reason", "r"), 2, "--status 99"},
		{resolve("unknown", "--done", "--status", "204", "--body", "x", "--reason", "r"), 2, "has no body"},
		{resolve("unknown", "--done", "--location", "/a\nb", "--reason", "r"), 2, "--location is not a URL"},
		{resolve("unknown", "--done", "--result", "{", "--reason", "r"), 2, "--result is not JSON"},
		{resolve("unknown", "--done", "--result", "{}", "--body", "x", "--reason", "r"), 2, "--result is the whole answer"},
		{[]string{"release", "--scope", "order", "done"}, 2, "--reason"},
		{[]string{"release", "--scope", "order", "unknown", "--reason", "r"}, 1, "is unknown: only what is done"},
	} {
		k.want(c.code, c.says, c.args...)
		if _, stdout, stderr := k.call(c.args...); strings.Contains(stdout+stderr, "s3cret") != strings.Contains(c.says, "s3cret") || strings.Contains(stdout, "\x1b") {
			t.Errorf("nebis %s: a secret or colours\n%s%s", strings.Join(c.args, " "), stdout, stderr)
		}
	}
	var n int
	if err := k.db.QueryRow("SELECT COUNT(*) FROM idempotency_audit").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d records of what was refused, %v", n, err)
	}
}

func TestADatabaseIsLeftAsItIs(t *testing.T) {
	none := filepath.Join(t.TempDir(), "typo.db")
	if code, _, stderr := call(t, nil, "show", "--db", "sqlite:"+none, "--scope", "order", "k"); code != 1 || !strings.Contains(stderr, "sqlite:"+none) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is made: %v", err)
	}
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.lease(nebis.Anyone, "k", errors.New("the line broke"))
	k.db.Close()
	journal := func(q string) (mode string) {
		db, err := sql.Open("sqlite", strings.TrimPrefix(k.url, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow(q).Scan(&mode); err != nil {
			t.Fatal(err)
		}
		return mode
	}
	journal("PRAGMA journal_mode = DELETE")
	k.want(0, "unknown", "show", "--scope", "order", "k")
	if mode := journal("PRAGMA journal_mode"); mode != "delete" {
		t.Errorf("the journal mode is %s", mode)
	}
}

func TestAMistypedKeyMakesNoTable(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.want(1, "no key", "resolve", "--scope", "order", "typo", "--free", "--reason", "r")
	k.want(1, "no key", "show", "--scope", "order", "typo")
	var n int
	if err := k.db.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%audit'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d tables, %v", n, err)
	}
}

// What resolve writes is what nebishttp replays.
func TestAResolvedAnswerIsReplayed(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	m := nebishttp.New(k.store, func(*http.Request) (string, error) { return "ann", nil }, nil)
	handler := m.Tx("order", func(http.ResponseWriter, *http.Request, *sql.Tx) error {
		t.Error("it ran")
		return nil
	}, nil)
	for key, c := range map[string]struct {
		flags                       []string
		status                      int
		location, body, idempotency string
	}{
		"page":   {[]string{"--location", "/orders/7?a=1&b=2"}, 303, "/orders/7?a=1&b=2", "", "replayed"},
		"moved":  {[]string{"--status", "302", "--location", "/orders/7"}, 302, "/orders/7", "", "replayed"},
		"text":   {[]string{"--body", "<p>你好</p>"}, 200, "", "<p>你好</p>", "replayed"},
		"empty":  {[]string{"--status", "204"}, 204, "", "", "replayed"},
		"nobody": {nil, 410, "", "", "not-kept"},
	} {
		k.lease("ann", key, errors.New("the line broke"))
		k.want(0, "unknown → done", append([]string{"resolve", "--scope", "order", "--owner", "ann", key, "--done", "--reason", "r"}, c.flags...)...)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader("{}"))
		req.Header.Set("Idempotency-Key", key)
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, req)
		if res.Code != c.status || res.Header().Get("Location") != c.location || c.status != 410 && res.Body.String() != c.body || res.Header().Get("Idempotency-Status") != c.idempotency {
			t.Errorf("%s: %d %v %s", key, res.Code, res.Header(), res.Body)
		}
	}
	k.lease("ann", "result", errors.New("the line broke"))
	k.want(0, "→ done", "resolve", "--scope", "order", "--owner", "ann", "result", "--done", "--reason", "r", "--result", `{"id": 7}`)
	got := k.show("ann", "result", "--full")
	if !strings.Contains(string(got.Response), `"id": 7`) || got.Answer == nil || got.Answer.Status != 0 {
		t.Errorf("%+v", got)
	}
}

func TestARecordSaysWhoItWas(t *testing.T) {
	as := func(sudo string) string {
		return who(env{getenv: func(name string) string { return map[string]string{"SUDO_USER": sudo}[name] }})
	}
	plain := as("")
	if plain == "" || as("ann") != "ann as "+plain || as(plain) != plain {
		t.Errorf("%q, with sudo %q", plain, as("ann"))
	}
}

package find_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

func TestAConditionThatWritesIsRefusedInWords(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		for where, says := range map[string]string{
			"1=1; DELETE FROM orders":                  "semicolon",
			"1=1) OR (1=1":                             "closing bracket",
			"(1=1":                                     "opening bracket",
			"1=1 -- and so on":                         "comment",
			"1=1 /* and so on":                         "comment",
			"1 IN (DELETE FROM orders RETURNING id)":   "the word DELETE",
			"1=1 INTO OUTFILE 'x'":                     "the word INTO",
			"id IN (SELECT id FROM orders FOR UPDATE)": "the word UPDATE",
			"1=1 UNION SELECT 1":                       "the word UNION",
			"item = 'x":                                "opening '",
			`item = 'x\' OR 1=1; DROP TABLE orders; SELECT ' '`: "backslash before a quote",
			"item = \\'x":        `"\\"`,
			"no_such_column = 1": "no_such_column",
			"readonly = 1":       "readonly",
			"id IN (SELECT id FROM orders FOR SHARE)": "the word SHARE",
			"1=1\x00":                                       `"\x00"`,
			"pg_terminate_backend(1)":                       "calls pg_terminate_backend()",
			"lo_from_bytea (0, 'x') > 0":                    "calls lo_from_bytea()",
			"pg_catalog.nextval('s') > 0":                   "calls nextval()",
			"pg_catalog . lower(item) = 'tea'":              "calls lower()",
			`"lower"(item) = 'tea'`:                         `calls "lower"`,
			"`sleep` (1) = 0":                               "calls `sleep`",
			"GET_LOCK('x', 0) = 1":                          "calls GET_LOCK()",
			"0 = SLEEP\n(1)":                                "calls SLEEP()",
			"LOAD_FILE('/etc/passwd') IS NULL":              "calls LOAD_FILE()",
			"load_extension('x') = 1":                       "calls load_extension()",
			"EXISTS (SELECT 1 FROM pg_stat_reset())":        "calls pg_stat_reset()",
			"dblink_exec('', 'DELETE FROM orders') IS NULL": "calls dblink_exec()",
		} {
			_, err := find.Run(s.t.Context(), s.target, options(find.Options{Where: where}))
			if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "tries to write") {
				s.t.Errorf("%s: %v; want %q", where, err, says)
			}
		}
		for _, where := range []string{
			"COALESCE(NULLIF(LOWER(item), ''), 'x') <> 'y' AND (NOT (user_id < 0)) AND user_id IN (1, 2, 3, 4, 5, 6, 7)",
			"id IN (SELECT MIN(id) FROM orders GROUP BY id HAVING (COUNT(*) = 1)) AND CAST(amount AS DECIMAL(10,2)) > 0",
			"ABS(user_id) BETWEEN (0) AND (CASE WHEN (1 = 1) THEN (9) ELSE (8) END) OR item LIKE ('a')",
		} {
			s.wants(s.find(find.Options{Where: where, Same: []string{"user_id", "item", "amount"}}), plantedGroups, plantedSurplus)
		}
		s.wants(s.find(find.Options{Where: "REPLACE(item, 'a', 'b') <> 'update; delete' AND (user_id > 0)", Same: []string{"user_id", "item", "amount"}}), plantedGroups, plantedSurplus)
	})
}

func TestNamesThatAreNone(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		for _, c := range []struct {
			o    find.Options
			says string
		}{
			{find.Options{Table: "ordres"}, `there is no table "ordres"; there are orders`},
			{find.Options{Same: []string{"user"}}, `orders has no column "user"; it has id, user_id`},
			{find.Options{Same: []string{"user_id, (SELECT 1)"}}, "has no column"},
			{find.Options{At: "1"}, "has no column"},
			{find.Options{At: "item"}, "no value of item can be read as a time"},
			{find.Options{ID: []string{"*"}}, "has no column"},
			{find.Options{Sum: "amount)"}, "has no column"},
			{find.Options{Sum: "item"}, "are no numbers"},
		} {
			if _, err := find.Run(s.t.Context(), s.target, options(c.o)); err == nil || !strings.Contains(err.Error(), c.says) {
				s.t.Errorf("%+v: %v; want %q", c.o, err, c.says)
			}
		}
		s.find(find.Options{Table: "ORDERS", Same: []string{"User_ID"}, At: "CREATED_AT"})
	})
}

func TestAnAccountThatMaySelectIsEnough(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], true, planted...)
		reader := s.reader()
		r, err := find.Run(s.t.Context(), reader, options(find.Options{Same: []string{"user_id", "item", "amount"}, Where: "id > 0"}))
		if err != nil {
			s.t.Fatal(err)
		}
		s.wants(r, plantedGroups, plantedSurplus)
	})
}

// reader is an account with SELECT on the table alone; on SQLite a file that
// nobody may write.
func (s *shop) reader() dburl.Target {
	s.t.Helper()
	var url string
	switch s.target.Dialect {
	case nebis.SQLite:
		s.exec("PRAGMA journal_mode = DELETE")
		file := strings.TrimPrefix(s.target.String(), "sqlite:")
		if err := os.Chmod(file, 0o400); err != nil {
			s.t.Fatal(err)
		}
		return s.target
	case nebis.MySQL:
		var name string
		if err := s.db.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
			s.t.Fatal(err)
		}
		account := "'r" + name[len(name)-8:] + "'@'127.0.0.1'"
		s.exec("CREATE USER " + account + " IDENTIFIED BY 'r'")
		s.exec("GRANT SELECT ON " + name + ".orders TO " + account)
		s.t.Cleanup(func() { s.db.Exec("DROP USER " + account) })
		_, rest, _ := strings.Cut(s.target.String(), "@")
		url = "mysql://r" + name[len(name)-8:] + ":r@" + rest
	case nebis.Postgres:
		var schema string
		if err := s.db.QueryRow("SELECT current_schema()").Scan(&schema); err != nil {
			s.t.Fatal(err)
		}
		role := schema + "_r"
		s.exec("CREATE ROLE " + role + " LOGIN PASSWORD 'r'")
		s.exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role)
		s.exec("GRANT SELECT ON orders TO " + role)
		s.t.Cleanup(func() { s.db.Exec("DROP OWNED BY " + role); s.db.Exec("DROP ROLE " + role) })
		_, rest, _ := strings.Cut(s.target.String(), "@")
		url = "postgres://" + role + ":r@" + rest + "?search_path=" + schema
	}
	target, err := dburl.Parse(url)
	if err != nil {
		s.t.Fatal(err)
	}
	return target
}

func TestASQLiteFileIsLeftAsItWas(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.plant(atColumns[0], false, planted...)
	s.exec("PRAGMA journal_mode = DELETE")
	s.db.Close()
	file := strings.TrimPrefix(s.target.String(), "sqlite:")
	before := contents(t, file)
	s.find(find.Options{})
	if after := contents(t, file); !slices.Equal(before, after) {
		t.Errorf("the folder had %q, and has %q", before[:len(before)-1], after[:len(after)-1])
	}
	none := file + ".none"
	target, err := dburl.Parse("sqlite:" + none)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find.Run(t.Context(), target, options(find.Options{})); err == nil {
		t.Error("a file that is not there was searched")
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a file was made")
	}
}

// contents are the names beside a file, and its own bytes.
func contents(t *testing.T, file string) []string {
	t.Helper()
	var all []string
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, string(b))
}

func TestALiveSQLiteFileInWALModeIsRead(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.plant(atColumns[0], false, planted...)
	s.wants(s.find(find.Options{Same: []string{"user_id", "item", "amount"}}), plantedGroups, plantedSurplus)
}

func TestIdsAreShownWithFullOnly(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		for _, full := range []bool{false, true} {
			b, err := json.Marshal(s.find(find.Options{Same: []string{"user_id", "item", "amount"}, Full: full}))
			if err != nil {
				s.t.Fatal(err)
			}
			if strings.Contains(string(b), `"ids"`) != full {
				s.t.Errorf("full %v: %s", full, b)
			}
		}
	})
}

func TestALargeTableWithoutAnIndexIsToldBeforehand(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.plant(atColumns[3], false, planted...)
	s.exec("UPDATE orders SET id = 5000000 WHERE id = 15") // SQLite's estimate is the greatest id
	var events []string
	o := find.Options{
		Warn:     func(text string) { events = append(events, text) },
		Progress: func(int, int) { events = append(events, "read") },
	}
	s.find(o)
	if len(events) == 0 || !strings.Contains(events[0], "no index on created_at") || !strings.Contains(events[0], "5,000,000") {
		t.Errorf("it said %q", events)
	}
	events, o.Lang = nil, report.Chinese
	if s.find(o); len(events) == 0 || !strings.Contains(events[0], "created_at 列上没有索引") {
		t.Errorf("in Chinese it said %q", events)
	}
	s.exec("CREATE INDEX by_status ON orders (status, created_at)") // of no use
	events = nil
	if s.find(o); len(events) == 0 || events[0] == "read" {
		t.Errorf("with an index on another column it said %q", events)
	}
	s.exec("CREATE INDEX by_time ON orders (created_at)")
	events = nil
	s.find(o)
	if slices.ContainsFunc(events, func(e string) bool { return e != "read" }) {
		t.Errorf("with an index it said %q", events)
	}
}

// An import has rows older than those before them; ids are no clock.
func TestRowsOfAnImportAreFound(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.plant(atColumns[3], false)
	tx, err := s.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	const rows = 150_000
	for i := range rows {
		at := noon.Unix() + int64(i)*10
		if i >= rows/2 {
			at -= 10 * 365 * 86400
		}
		user := i
		if i%20_000 == 25 && i > 50 {
			user -= 50 // what was read since must not push it out
		}
		if _, err := tx.Exec("INSERT INTO orders (user_id, item, created_at) VALUES (?, 'tea', ?)", user, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	r := s.find(find.Options{Same: []string{"user_id", "item"}, Within: 500 * time.Second, Page: 2000})
	if s.wants(r, 7, 7); r.Late != rows/2 {
		t.Errorf("%d rows are late", r.Late)
	}
}

// Keys in no order: a row and its duplicate may lie at the two ends.
func TestRowsInNoOrderAreAllRemembered(t *testing.T) {
	s := openShop(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	s.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, user_id INTEGER, add_time INTEGER) WITHOUT ROWID")
	tx, err := s.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	const rows = 90_000
	for i := range rows {
		key, at := fmt.Sprintf("%06d", i*7919%90_001), noon.Unix()+int64(i/2)*600+int64(i%2)
		if _, err := tx.Exec("INSERT INTO orders VALUES (?, ?, ?)", key, i/2, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	r := s.find(find.Options{Same: []string{"user_id"}, Page: 2000})
	if s.wants(r, rows/2, rows/2); r.Late != 0 {
		t.Errorf("%d rows are late where nothing was forgotten", r.Late)
	}
}

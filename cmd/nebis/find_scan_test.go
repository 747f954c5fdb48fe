package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// logs makes two: one with a repeat, and one without.
func logs(t *testing.T) (twice, once string) {
	t.Helper()
	line := `203.0.113.7 - - [01/Mar/2026:12:00:00 +0000] "POST /orders HTTP/1.1" 302 0 "-" "Mozilla/5.0"` + "\n"
	return file(t, "twice.log", line+line), file(t, "once.log", line)
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ordersTwice is a database with one row too many in orders, and none in users.
func ordersTwice(t *testing.T) string {
	t.Helper()
	url := dburltest.SQLite(t)
	db, _ := dburltest.Open(t, url)
	for _, q := range []string{
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, amount DECIMAL(10,2), add_time INTEGER)",
		"INSERT INTO orders VALUES (1001, 7, 9.90, 1772366400), (1002, 7, 9.90, 1772366400)",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, created_at DATETIME)",
		"INSERT INTO users VALUES (1, 'ann', '2026-03-01 12:00:00')",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

func TestExitCodesOfFindAndScan(t *testing.T) {
	twice, once := logs(t)
	thrice := file(t, "thrice.log", strings.Repeat(`203.0.113.8 - - [01/Mar/2026:13:00:00 +0000] "POST /orders HTTP/1.1" 302 0 "-" "Mozilla/5.0"`+"\n", 2)+
		`203.0.113.9 - - [01/Mar/2026:13:00:00 +0000] "POST /orders HTTP/1.1" 302 0 "-" "Mozilla/5.0"`+"\n")
	db := ordersTwice(t)
	for _, c := range []struct {
		args         []string
		code         int
		stdout, says string
	}{
		{[]string{"scan", twice}, 1, "--protect 'POST /orders'", ""},
		{[]string{"scan", twice, thrice}, 1, "Of 5 writes, 2 look like repeats", ""},
		{[]string{"scan", once}, 0, "There is one write only", ""},
		{[]string{"scan", "--lang", "zh", twice}, 1, "值得保护的接口", ""},
		{[]string{"scan"}, 2, "", "name the logs"},
		{[]string{"scan", "/nowhere/access.log"}, 2, "", "no such file"},
		{[]string{"scan", "--format", "x", once}, 2, "", "neither a log_format"},
		{[]string{"scan", "--within", "0s", once}, 2, "", "--within"},
		{[]string{"scan", "--tz", "Mars/Olympus", once}, 2, "", "--tz"},
		{[]string{"scan", "--lang", "fr", once}, 2, "", "--lang"},
		{[]string{"scan", "--html", "/nowhere/at/all.html", "/nowhere/access.log"}, 2, "", "--html: open /nowhere/at"},
		{[]string{"scan", "--html", t.TempDir(), "/nowhere/access.log"}, 2, "", "is a folder"},
		{[]string{"scan", "--also", "pay", once}, 2, "", "--also"},
		{[]string{"scan", "--bogus"}, 2, "", "--bogus"},
		{[]string{"find", "--db", db, "--table", "orders"}, 1, "One row too many.", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--full"}, 1, "1001, 1002", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--sum", "amount", "--lang", "zh"}, 1, "合计 9.9", ""},
		{[]string{"find", "--db", db, "--table", "users"}, 0, "There is one row only", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--since", "1d"}, 0, "There are no rows to compare", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--since", "99999d"}, 1, "One row too many.", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--same", "user_id, amount", "--id", "id,user_id", "--full"}, 1, "1001/7, 1002/7", ""},
		{[]string{"find", "--db", db, "--table", "orders", "--same", `us"er`}, 2, "", `no column "us\"er"`},
		{[]string{"find", "--db", db, "--table", "orders", "now"}, 2, "", "no arguments"},
		{[]string{"find", "--db", db}, 2, "", "--table"},
		{[]string{"find", "--table", "orders"}, 2, "", "NEBIS_DB"},
		{[]string{"find", "--db", db, "--table", "oders"}, 2, "", "there are orders, users"},
		{[]string{"find", "--db", db, "--table", "orders", "--since", "soon"}, 2, "", "--since"},
		{[]string{"find", "--db", db, "--table", "orders", "--within", "-1s"}, 2, "", "--within"},
		{[]string{"find", "--db", db, "--table", "orders", "--within", "0s"}, 2, "", "--within"},
		{[]string{"find", "--db", db, "--table", "orders", "--json", "--where", "amount <> 0"}, 1, `"where": "amount <> 0"`, ""},
		{[]string{"find", "--db", db, "--table", "orders", "--where", "1=1; DELETE FROM orders"}, 2, "", "semicolon"},
		{[]string{"find", "--db", "sqlite:/nowhere/shop.db", "--table", "orders"}, 2, "", "sqlite:/nowhere/shop.db"},
		{[]string{"find", "--db", "mysql://ann:s3cret@127.0.0.1:1/shop", "--table", "orders"}, 2, "", "mysql://ann@127.0.0.1:1/shop"},
		{[]string{"find", "--help"}, 0, "Exit code: 0 none found", ""},
	} {
		code, stdout, stderr := call(t, nil, c.args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.says) {
			t.Errorf("nebis %s: exit %d, wanted %d %q %q\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), code, c.code, c.stdout, c.says, stdout, stderr)
		}
		if code == 2 && stdout != "" || code != 2 && stderr != "" || strings.Contains(stdout+stderr, "s3cret") || strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("nebis %s: wrong stream, a password or colours\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), stdout, stderr)
		}
	}
}

// Before the work, on standard error, as Git and others do; errors stay English, for
// whoever searches for them.
func TestAWarningIsInTheLanguageOfTheReport(t *testing.T) {
	url := ordersTwice(t)
	db, _ := dburltest.Open(t, url)
	// SQLite's estimate is the greatest id.
	if _, err := db.Exec("UPDATE orders SET id = 5000000 WHERE id = 1002"); err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string]string{"en": "no index on add_time", "zh": "add_time 列上没有索引"} {
		for _, c := range []struct {
			env  map[string]string
			args []string
		}{{nil, []string{"--lang", lang}}, {map[string]string{"LANG": lang + ".UTF-8"}, nil}} {
			_, _, stderr := call(t, c.env, append([]string{"find", "--db", url, "--table", "orders"}, c.args...)...)
			if !strings.Contains(stderr, want) {
				t.Errorf("%s %v: it said %q", lang, c, stderr)
			}
		}
	}
}

func TestJSONAndThePageHaveTheSameFigures(t *testing.T) {
	twice, _ := logs(t)
	for _, command := range [][]string{{"scan", twice}, {"find", "--db", ordersTwice(t), "--table", "orders"}} {
		html := filepath.Join(t.TempDir(), "report.html")
		code, stdout, stderr := call(t, nil, append(command, "--json", "--html", html)...)
		var got struct {
			Repeated, Surplus, Groups int
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 1 || got.Repeated+got.Surplus != 1 || got.Groups != 1 {
			t.Errorf("%s: exit %d, %v, %s%s", command[0], code, err, stdout, stderr)
		}
		page, err := os.ReadFile(html)
		if err != nil || !strings.Contains(string(page), "</html>") || !strings.Contains(string(page), `class="lead found"`) {
			t.Errorf("%s: %v, %s", command[0], err, page)
		}
		if entries, err := os.ReadDir(filepath.Dir(html)); err != nil || len(entries) != 1 {
			t.Errorf("%s left %v, %v", command[0], entries, err)
		}
	}
}

func TestFindTakesTheDatabaseFromTheEnvironment(t *testing.T) {
	db := ordersTwice(t)
	if code, _, stderr := call(t, map[string]string{"NEBIS_DB": db}, "find", "--table", "orders"); code != 1 {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if code, _, stderr := call(t, map[string]string{"NEBIS_DB": "sqlite:/nowhere/shop.db"}, "find", "--table", "orders", "--db", db); code != 1 {
		t.Errorf("--db does not win: exit %d, %s", code, stderr)
	}
}

func TestAPauseThatWasNotGivenFollowsTheRead(t *testing.T) {
	for _, given := range []bool{false, true} {
		var f findFlags
		f.defaults(func(string) bool { return given }, func(string) string { return "" })
		if (f.opts.Pause < 0) == given {
			t.Errorf("given %v: %s", given, f.opts.Pause)
		}
	}
}

func TestScanReadsStandardInput(t *testing.T) {
	twice, _ := logs(t)
	in, err := os.Open(twice)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command(os.Args[0], "scan", "-")
	cmd.Env, cmd.Stdin = append(cmd.Environ(), "NEBIS_TEST_BE_NEBIS=1", "TZ=Asia/Shanghai"), in
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "--protect 'POST /orders'") || !strings.Contains(string(out), "2026-03-01 20:00:00 +08:00") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestTheBarShowsHowFarItIs(t *testing.T) {
	for _, c := range []struct {
		done, total int
		want        string
	}{
		{50, 100, "[███████████████···············]  50%"},
		{300, 100, "[██████████████████████████████] 100%"},
		{1234, 0, "1,234 rows"},
	} {
		if got := (&progress{done: c.done, total: c.total, unit: " rows"}).line(); got != c.want {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
}

func TestTheBarKnowsTheSizeOfFilesOnly(t *testing.T) {
	twice, once := logs(t)
	for _, c := range []struct {
		names []string
		want  int
	}{{[]string{once}, 93}, {[]string{once, twice}, 279}, {[]string{once, "-"}, 0}, {[]string{once, t.TempDir()}, 0}, {[]string{"/nowhere"}, 0}, {nil, 0}} {
		if got := size(c.names); got != c.want {
			t.Errorf("%q: %d bytes, want %d", c.names, got, c.want)
		}
	}
}

func TestColourIsForTerminals(t *testing.T) {
	none := func(string) string { return "" }
	var b strings.Builder
	tty, err := os.Open("/dev/tty")
	if err != nil {
		tty, err = os.Open(os.DevNull) // a character device as well
	}
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	if coloured(env{none, &b, &b}) {
		t.Error("colour for what is no terminal")
	}
	if !coloured(env{none, tty, &b}) {
		t.Error("no colour on a terminal")
	}
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		if coloured(env{func(n string) string { return map[string]string{name: value}[n] }, tty, &b}) {
			t.Errorf("colour against %s", name)
		}
	}
}

func TestNamesAreCutAtCommas(t *testing.T) {
	for in, want := range map[string]string{
		"a,b": "[a b]", " a , b,": "[a b]", `a"b,c`: `[a"b c]`, `"a,b",c`: "[a,b c]", `"a""b"`: `[a"b]`, "": "[]", " , ": "[]", "my orders,订单": "[my orders 订单]",
	} {
		if got := fmt.Sprint(splitNames([]string{in})); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	if got := splitNames([]string{"a", "b,c"}); len(got) != 3 {
		t.Errorf("two lists are %q", got)
	}
}

func TestASearchThatIsStoppedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	twice, _ := logs(t)
	for _, command := range [][]string{{"scan", twice}, {"find", "--db", ordersTwice(t), "--table", "orders"}} {
		var stdout, stderr strings.Builder
		code := run(ctx, command, func(string) string { return "" }, &stdout, &stderr)
		if code != 2 || stderr.String() != "nebis: stopped before the end: there is no result\n" || stdout.String() != "" {
			t.Errorf("%s: exit %d, %s%s", command[0], code, &stderr, &stdout)
		}
	}
}

func TestSinceReadsAgesAndDays(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"90d": "2025-12-31T12:00:00Z", "12h": "2026-03-31T00:00:00Z", "2026-01-31": "2026-01-31T00:00:00Z", "2026-01-31 08:00:00": "2026-01-31T08:00:00Z",
	} {
		if got, err := since(s, now, time.UTC); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"-1d", "d", "-2h", "yesterday"} {
		if got, err := since(s, now, time.UTC); err == nil {
			t.Errorf("%s is %s", s, got)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestParse(t *testing.T) {
	for args, want := range map[string]int{
		"-- true":                        3,
		"-fast -- true":                  3,
		"-cache 128 -- true":             3,
		"-only mariadb -- true":          1,
		"-only postgresql,mysql -- true": 2,
		"-only oracle -- true":           -1,
		"-only mysql":                    -1,
		"-unknown -- true":               -1,
	} {
		c, err := parse(strings.Fields(args), &bytes.Buffer{})
		if got := len(c.kinds); (err == nil && got != want) || (err != nil) != (want < 0) {
			t.Errorf("with %s: %d servers, %v", args, got, err)
		}
	}
}

func TestRunRefusesWhatItCannotStart(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"-only", "mysql"}, nil, &stderr, &stderr); code != 2 {
		t.Errorf("without a command: exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "no command") {
		t.Errorf("it said %q", stderr.String())
	}
}

func TestRunCommandPassesTheExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		c := config{command: []string{"sh", "-c", script}}
		if got := runCommand(c, os.Environ(), nil, nil, nil); got != want {
			t.Errorf("%s: exit code %d, want %d", script, got, want)
		}
	}
	c := config{command: []string{filepath.Join(t.TempDir(), "none")}}
	if got := runCommand(c, nil, nil, nil, &bytes.Buffer{}); got != 2 {
		t.Errorf("no such command: exit code %d", got)
	}
}

func TestRunCommandPassesSignalsToAllOfTheCommand(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	signals := make(chan os.Signal, 1)
	// The pipe closes when the last process of the group has ended.
	c := config{command: []string{"sh", "-c", "sleep 60 & echo ready; wait"}}
	code := make(chan int)
	go func() {
		code <- runCommand(c, os.Environ(), signals, w, nil)
		w.Close()
	}()
	ready := make([]byte, 6)
	if _, err := r.Read(ready); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	signals <- syscall.SIGTERM
	if got := <-code; got != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", got)
	}
	if n, err := r.Read(ready); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("the child of the command lives on (%d bytes)", n)
	}
}

func TestEnvironmentNamesEveryServer(t *testing.T) {
	t.Setenv("NEBIS_TEST_MYSQL", "from outside")
	servers := []*dbtest.Server{{Kind: dbtest.MariaDB, DSN: "maria"}}
	env := environment(config{}, servers, "file")
	for _, want := range []string{"NEBIS_TEST_MARIADB=maria", "NEBIS_TEST_MYSQL=", "NEBIS_TEST_REQUIRE=", "NEBIS_TEST_LEDGER=file"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if !slices.Contains(environment(config{all: true}, servers, ""), "NEBIS_TEST_REQUIRE=1") {
		t.Error("with all servers, none may be missing")
	}
}

func TestLinesCountWhatTheTestsOpened(t *testing.T) {
	entries := []dbtest.Entry{
		{Kind: "MariaDB", Config: "mariadb@serializable"}, {Kind: "MariaDB", Config: "mariadb"},
		{Kind: "MariaDB", Config: "private"}, {Kind: "SQLite", Version: "3.1", Config: "sqlite-mattn", Driver: "sqlite3"},
	}
	if got := opened(entries, dbtest.MariaDB); got != "opened by mariadb 2, private 1" {
		t.Errorf("opened: %s", got)
	}
	if got := opened(entries, dbtest.MySQL); got != "no test opened it" {
		t.Errorf("opened: %s", got)
	}
	if got := files(entries); len(got) != 1 || !strings.HasSuffix(got[0], "; opened 1 times") {
		t.Errorf("files: %q", got)
	}
}

// TestRunStartsAServer is with itself, one server and a command that looks for it.
func TestRunStartsAServer(t *testing.T) {
	dbtest.Shared(t, dbtest.MariaDB)
	var out bytes.Buffer
	args := []string{"-only", "mariadb", "--", "sh", "-c", `echo "at $NEBIS_TEST_MARIADB$NEBIS_TEST_POSTGRES"; exit 3`}
	if code := run(args, nil, &out, &out); code != 3 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"at nebis:nebis@tcp(127.0.0.1:", "exercised: MariaDB ", "no test opened it"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

func TestRunEndsOnASignalWhileServersStart(t *testing.T) {
	dbtest.Shared(t, dbtest.MariaDB)
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	var out bytes.Buffer
	if code := run([]string{"-only", "mariadb", "--", "echo", "started"}, signals, &out, &out); code != 2 {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

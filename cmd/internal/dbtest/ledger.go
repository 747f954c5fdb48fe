package dbtest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// LedgerEnv names the file to which tests append a line for every database
// that they open: the supervisor reads there what was really exercised.
const LedgerEnv = "NEBIS_TEST_LEDGER"

// Entry is a line of the ledger.
type Entry struct {
	Kind    string // product
	Version string // of SQLite, or of a private server
	Config  string // name of the configuration; "private" for a server
	Driver  string // for database/sql
}

func record(t testing.TB, c Config, version string) {
	t.Helper()
	write(t, Entry{c.Kind.String(), version, c.Name, c.Driver})
}

func recordPrivate(t testing.TB, s *Server) {
	t.Helper()
	write(t, Entry{s.Kind.String(), s.Version, "private", ""})
}

// write appends a line; short appends of several processes do not mix.
func write(t testing.TB, e Entry) {
	t.Helper()
	path := os.Getenv(LedgerEnv)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("dbtest: ledger: %v", err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\t%s\t%s\t%s\n", e.Kind, e.Version, e.Config, e.Driver)
}

// ReadLedger returns the lines of a ledger; a file that is not there is empty.
func ReadLedger(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []Entry
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		part := strings.Split(lines.Text(), "\t")
		if len(part) == 4 {
			entries = append(entries, Entry{part[0], part[1], part[2], part[3]})
		}
	}
	return entries, lines.Err()
}

package outboxtests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var times = flag.Int("times", 5, "how often each step is killed on each database")

func TestMain(m *testing.M) {
	// Broken connections are what these tests are about.
	mysql.SetLogger(&mysql.NopLogger{})
	flag.Parse()
	// They wait for processes and leases more than they work.
	flag.Set("test.parallel", "8")
	dir, err := buildSite()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	if testing.Verbose() {
		results.print(os.Stdout)
	}
	os.Exit(code)
}

// siteProgram is the path of the program that the tests start and kill.
var siteProgram string

// buildSite builds it, without the race detector, which would take most of the
// time that these tests have to start it again.
func buildSite() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "nebis-outbox-"); err != nil {
		return "", err
	}
	siteProgram = filepath.Join(dir, "site")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", siteProgram, "./site").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
}

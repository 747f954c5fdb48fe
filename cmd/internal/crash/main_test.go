package crash

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

var times = flag.Int("times", 20, "how often each step is killed, frozen or cut on each database")

func TestMain(m *testing.M) {
	// Broken connections are what these tests are about.
	mysql.SetLogger(&mysql.NopLogger{})
	flag.Parse()
	// They wait for processes and locks more than they work.
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
	if dir, err = os.MkdirTemp("", "nebis-crash-"); err != nil {
		return "", err
	}
	siteProgram = filepath.Join(dir, "site")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", siteProgram, "./site").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
}

// databases are those whose program is killed and frozen.
func databases() []dbtest.Config {
	return []dbtest.Config{
		dbtest.Lookup("sqlite-modernc"), dbtest.Lookup("mariadb"),
		dbtest.Lookup("postgres-pgx"), dbtest.Lookup("mysql56"),
	}
}

func each(t *testing.T, configs []dbtest.Config, f func(t *testing.T, c dbtest.Config)) {
	t.Helper()
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// lanes splits *times over parallel worlds, for what waits more than it works.
func lanes(t *testing.T, f func(t *testing.T, times int)) {
	t.Helper()
	const n = 4
	for i := range min(n, *times) {
		t.Run(fmt.Sprint("lane ", i+1), func(t *testing.T) {
			t.Parallel()
			f(t, (*times+i)/n)
		})
	}
}

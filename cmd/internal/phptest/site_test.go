package phptest

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

const top = "../../.."

// site is a shop in PHP on a database that a program in Go uses as well.
type site struct {
	t     testing.TB
	dir   string
	env   []string
	gate  *gatewaytest.Payment // what work that waits, waits for
	db    *sql.DB
	store *nebis.Store
	line  *dbtest.Proxy // before the database, where it has a server
	kind  dbtest.Kind
	*server
}

func TestPHP(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "sqlite-modernc", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dbtest.Lookup(name)
			needPHP(t, c.Kind)
			s := open(t, c)
			for _, x := range tests {
				t.Run(x.name, func(t *testing.T) { x.test(t, s.anew(t)) })
			}
		})
	}
}

var tests = []struct {
	name string
	test func(*testing.T, *site)
}{
	{"a form that is sent twenty times at once is one order", testForm},
	{"a duplicate waits and gets the first answer", testDuplicates},
	{"work that fails has not happened and frees the key", testFailures},
	{"of many who send an expired key one takes it over", testExpired},
	{"an answer that is too large is given once", testLarge},
	{"malformed keys are refused", testMalformed},
	{"a server that is killed in the middle has done nothing", testKilled},
	{"PHP and Go get each other's answers", testEachOther},
	{"PHP and Go at once are one order", testTogether},
	{"a key that Go remembers longer than its answer does not run in PHP", testRemembered},
	{"what one writes, the other's tools read", testTools},
	{"work that ends its transaction is told", testByHand},
	{"what is written after a hidden deadlock does not stay", testDeadlock},
	{"a COMMIT whose answer is lost is asked after", testCommitLost},
	{"a COMMIT that did not arrive has not happened", testCommitCut},
	{"a COMMIT that nobody can ask after is told", testCommitUnknown},
}

// anew returns the site for another test, with empty tables.
func (s *site) anew(t *testing.T) *site {
	s.exec(`DELETE FROM orders`)
	s.exec(`DELETE FROM idempotency`)
	again := *s
	again.t = t
	return &again
}

// extensions are PHP's, asked for once.
var extensions = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("php", "-m").Output()
	return string(out), err
})

// needPHP skips a test where PHP is missing, or fails it where nothing may be.
func needPHP(t *testing.T, k dbtest.Kind) {
	t.Helper()
	have, err := extensions()
	driver := map[dbtest.Kind]string{dbtest.Postgres: "pdo_pgsql", dbtest.SQLite: "pdo_sqlite"}[k]
	const missing = "PHP is missing, or a driver of it: Debian's php-cli, php-mysql, php-pgsql and php-sqlite3"
	switch {
	case err == nil && strings.Contains(have, "pdo_mysql") && strings.Contains(have, driver):
	case os.Getenv(dbtest.RequireEnv) == "1":
		t.Fatal("required: " + missing)
	default:
		t.Skip("skipped: " + missing)
	}
}

const columns = `owner VARCHAR(40) NOT NULL, item VARCHAR(40) NOT NULL, qty INTEGER NOT NULL, PRIMARY KEY (id)`

func open(t *testing.T, c dbtest.Config) *site {
	t.Helper()
	dsn := c.Fresh(t)
	s := &site{t: t, kind: c.Kind, dir: t.TempDir(), gate: gatewaytest.NewPayment(t), db: c.Pool(t, dsn)}
	s.must(os.CopyFS(s.dir, os.DirFS(top+"/php")))
	s.must(os.CopyFS(s.dir, os.DirFS("testdata")))
	var err error
	s.store, err = nebis.New(s.db, c.Dialect, nil)
	s.must(err)
	_, err = s.store.Migrate(t.Context(), false)
	s.must(err)
	s.exec(map[nebis.Dialect]string{
		nebis.MySQL:    `CREATE TABLE orders (id INTEGER AUTO_INCREMENT, ` + columns + `) CHARACTER SET utf8mb4`,
		nebis.SQLite:   `CREATE TABLE orders (id INTEGER, ` + columns + `)`,
		nebis.Postgres: `CREATE TABLE orders (id SERIAL, ` + columns + `)`,
	}[c.Dialect])
	if c.Kind != dbtest.SQLite {
		s.line = dbtest.NewProxy(t, c.Addr(t))
		dsn = c.Through(dsn, s.line.Addr)
	}
	s.env = append(pdo(t, c.Kind, dsn), "GATE="+s.gate.URL, "PHP_CLI_SERVER_WORKERS=8")
	return s.beside()
}

// beside returns the same site behind a server of its own, which is killed at cleanup.
func (s *site) beside() *site {
	other := *s
	other.server = &server{}
	other.start()
	other.t.Cleanup(other.kill)
	return &other
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) exec(query string) {
	s.t.Helper()
	_, err := s.db.ExecContext(s.t.Context(), query)
	s.must(err)
}

// orders are the items in the order of their ids.
func (s *site) orders() (items []string) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), `SELECT item FROM orders ORDER BY id`)
	s.must(err)
	defer rows.Close()
	for rows.Next() {
		items = append(items, "")
		s.must(rows.Scan(&items[len(items)-1]))
	}
	s.must(rows.Err())
	return items
}

// want fails the test unless these are the orders.
func (s *site) want(items ...string) {
	s.t.Helper()
	if got := s.orders(); !slices.Equal(got, items) {
		s.t.Errorf("the orders are %q, want %q", got, items)
	}
}

// file is a file of the repository.
func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

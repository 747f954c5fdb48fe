package phptest

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// server is PHP's.
type server struct {
	url   string
	php   *exec.Cmd
	ended chan struct{}
}

// pdo is the environment that tells PHP how to reach a database.
func pdo(t *testing.T, k dbtest.Kind, dsn string) []string {
	t.Helper()
	switch k {
	case dbtest.SQLite:
		file, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
		return []string{"SHOP_DB=sqlite:" + file}
	case dbtest.Postgres:
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		return []string{
			fmt.Sprintf("SHOP_DB=pgsql:host=%s;port=%s;dbname=%s;options='-c search_path=%s'", u.Hostname(), u.Port(),
				strings.TrimPrefix(u.Path, "/"), u.Query().Get("search_path")),
			"SHOP_USER=" + u.User.Username(), "SHOP_PASSWORD=" + password,
		}
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(cfg.Addr)
	return []string{"SHOP_DB=mysql:host=" + host + ";port=" + port + ";dbname=" + cfg.DBName + ";charset=utf8mb4",
		"SHOP_USER=" + cfg.User, "SHOP_PASSWORD=" + cfg.Passwd}
}

var address = regexp.MustCompile(`Server \((http://127\.0\.0\.1:\d+)\) started`)

// start starts PHP's server with all its workers, and waits until it listens.
func (s *site) start() {
	s.t.Helper()
	s.php = exec.Command("php", "-d", "session.save_path="+s.dir, "-d", "display_errors=0", "-d", "memory_limit=64M",
		"-S", "127.0.0.1:0", "-t", s.dir)
	s.php.Env = append(s.php.Environ(), s.env...)
	s.php.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.php.StderrPipe()
	s.must(err)
	s.must(s.php.Start())
	s.ended = make(chan struct{})
	opened := make(chan string, 8) // one for each worker, which say it all
	go s.read(bufio.NewScanner(out), opened)
	select {
	case s.url = <-opened:
	case <-s.ended:
		s.t.Fatal("php has ended")
	}
}

func (s *site) read(lines *bufio.Scanner, opened chan<- string) {
	defer close(s.ended)
	log := s.t.Output()
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "127.0.0.1") || strings.Contains(lines.Text(), "started") {
			fmt.Fprintln(log, lines.Text())
		}
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case opened <- m[1]:
			default:
			}
		}
	}
}

// kill ends the server and its workers with SIGKILL, and waits until they have ended.
func (s *site) kill() {
	if s.php.ProcessState != nil {
		return
	}
	_ = syscall.Kill(-s.php.Process.Pid, syscall.SIGKILL) // they may have ended
	<-s.ended
	_ = s.php.Wait()
}

package dbtest_test

import (
	"bufio"
	"context"
	"database/sql"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// on returns the plainest configuration of a server's kind.
func on(s *dbtest.Server) dbtest.Config {
	for _, c := range dbtest.Each() {
		if c.Kind == s.Kind {
			return c.On(s)
		}
	}
	panic("no configuration")
}

func TestServer(t *testing.T) {
	for _, k := range dbtest.Servers() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			s := dbtest.Private(t, k, nil)
			t.Run("keeps what was committed when it is killed", func(t *testing.T) { killed(t, s) })
			t.Run("stops in order and starts again", func(t *testing.T) { stopped(t, s) })
			t.Run("is frozen by Pause", func(t *testing.T) { paused(t, s) })
			t.Run("starts again and again", func(t *testing.T) { restarted(t, s) })
		})
	}
}

func killed(t *testing.T, s *dbtest.Server) {
	db := on(s).Open(t)
	mustExec(t, db, "CREATE TABLE things (id INTEGER PRIMARY KEY)")
	mustExec(t, db, "INSERT INTO things (id) VALUES (1)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO things (id) VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if s.Running() {
		t.Error("it runs on")
	}
	if err := tx.Commit(); err == nil {
		t.Error("a commit on the killed server reported success")
	}
	start(t, s)
	if got := text(t, db, "SELECT count(*) FROM things"); got != "1" {
		t.Errorf("%s rows, want the committed one", got)
	}
}

func stopped(t *testing.T, s *dbtest.Server) {
	db := on(s).Open(t)
	mustExec(t, db, "CREATE TABLE things (id INTEGER PRIMARY KEY)")
	s.Stop()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
	start(t, s)
	mustExec(t, db, "INSERT INTO things (id) VALUES (1)")
}

func paused(t *testing.T, s *dbtest.Server) {
	db := on(s).Open(t)
	text(t, db, "SELECT 1")
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SELECT 1"); err == nil {
		t.Error("a paused server answered")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, db, "SELECT 1"); got != "1" {
		t.Errorf("resumed, it answered %q", got)
	}
}

func restarted(t *testing.T, s *dbtest.Server) {
	began := time.Now()
	for range 3 {
		s.Kill()
		start(t, s)
	}
	t.Logf("killed and started again in %v each", time.Since(began)/3)
}

func start(t *testing.T, s *dbtest.Server) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestServersDieWithTheirProcess kills a process that launched a server, as
// the kernel or a timeout would, and looks for what it left.
func TestServersDieWithTheirProcess(t *testing.T) {
	for _, k := range dbtest.Servers() {
		t.Run(k.String(), func(t *testing.T) {
			dbtest.Shared(t, k)
			child := exec.Command(os.Args[0], "-test.run=^TestLaunchAndWait$")
			child.Env = append(os.Environ(), "NEBIS_DBTEST_LAUNCH="+k.String())
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			addr, folder, ok := strings.Cut(strings.TrimSpace(line), " ")
			child.Process.Kill()
			child.Wait()
			if !ok {
				t.Fatalf("the child said %q", line)
			}
			awaitSilence(t, addr)
			dbtest.Sweep(filepath.Dir(folder))
			if _, err := os.Stat(filepath.Join(folder, "lock")); err == nil {
				t.Errorf("%s is still there", folder)
			}
		})
	}
}

// awaitSilence waits until nothing listens on addr.
func awaitSilence(t *testing.T, addr string) {
	t.Helper()
	for range 1000 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the server on %s has outlived its process", addr)
}

// TestLaunchAndWait is the child of the test above.
func TestLaunchAndWait(t *testing.T) {
	for _, k := range dbtest.Servers() {
		if k.String() == os.Getenv("NEBIS_DBTEST_LAUNCH") {
			s, err := dbtest.Launch(t.Context(), k, nil)
			if err != nil {
				t.Fatal(err)
			}
			os.Stdout.WriteString(s.Addr + " " + s.Folder() + "\n")
			select {}
		}
	}
	t.Skip("only as the child of another test")
}

func TestServerOptions(t *testing.T) {
	for _, k := range []dbtest.Kind{dbtest.MySQL, dbtest.Postgres} {
		s := dbtest.Private(t, k, &dbtest.Options{Fast: true, Cache: 96})
		db, err := sql.Open("mysql", s.DSN)
		want := map[string]string{"SELECT @@innodb_flush_log_at_trx_commit": "2", "SELECT @@innodb_buffer_pool_size >> 20": "96"}
		if k == dbtest.Postgres {
			db, err = sql.Open("pgx", s.DSN)
			want = map[string]string{"SHOW synchronous_commit": "off", "SHOW shared_buffers": "96MB"}
		}
		if err != nil {
			t.Fatal(err)
		}
		for query, want := range want {
			if got := text(t, db, query); got != want {
				t.Errorf("%v: %s = %s, want %s", k, query, got, want)
			}
		}
		db.Close()
	}
}

package httptests

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// childEnv holds driver, dialect and DSN of a site that this test binary is to be,
// as a process that can be killed.
const childEnv = "HTTPTESTS_CHILD"

// stopHeader says where the child stops, tells so, and waits to be killed.
const stopHeader = "Stop"

func TestMain(m *testing.M) {
	if config := os.Getenv(childEnv); config != "" {
		fmt.Fprintln(os.Stderr, child(strings.SplitN(config, " ", 3)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func child(config []string) error {
	db, err := sql.Open(config[0], config[2])
	if err != nil {
		return err
	}
	dialect, err := strconv.Atoi(config[1])
	if err != nil {
		return err
	}
	store, err := nebis.New(db, nebis.Dialect(dialect), nil)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := nebishttp.New(store, user, nil).Tx("order", stoppable, nil)
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(stopHeader) == "after COMMIT" {
			w = stopWriter{w}
		}
		h(w, r)
	}))
}

func stoppable(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	if _, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item) VALUES ('tea')`); err != nil {
		return err
	}
	if r.Header.Get(stopHeader) == "before COMMIT" {
		stop()
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

func stop() {
	fmt.Println("stopped")
	select {}
}

// stopWriter stops where the answer would begin: after the commit.
type stopWriter struct{ http.ResponseWriter }

func (w stopWriter) WriteHeader(int) { stop() }

// startChild runs the site as a process of its own.
func startChild(t *testing.T, c dbtest.Config, dsn string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childEnv, c.Driver, c.Dialect, dsn))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return cmd, bufio.NewScanner(out)
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestAProcessThatIsKilledBeforeOrAfterTheCommit(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		for where, want := range map[string]struct {
			orders int
			next   string
		}{
			"before COMMIT": {0, "created"},
			"after COMMIT":  {1, "replayed"},
		} {
			dsn := c.Fresh(t)
			s := &site{t: t, db: c.Pool(t, dsn)}
			newStore(t, c, s.db)
			if _, err := s.db.ExecContext(t.Context(), `CREATE TABLE orders (item VARCHAR(100))`); err != nil {
				t.Fatal(err)
			}
			cmd, lines := startChild(t, c, dsn)
			lines.Scan()
			s.url = lines.Text()
			cut := make(chan error)
			go func() {
				_, err := s.try("POST", "/", io.MultiReader(strings.NewReader("x")), key, "k", stopHeader, where)
				cut <- err
			}()
			lines.Scan()
			kill(cmd)
			if err := <-cut; err == nil {
				t.Errorf("%s: the client got an answer", where)
			}
			s.wantOrders(want.orders)
			_, lines = startChild(t, c, dsn)
			lines.Scan()
			s.url = lines.Text()
			s.want(s.send("/", "x", key, "k"), 201, want.next)
			s.want(s.send("/", "x", key, "k"), 201, "replayed")
			s.wantOrders(1)
		}
	})
}

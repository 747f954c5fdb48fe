package gatewaytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Gateway is `nebis gateway`, in a process of its own.
type Gateway struct {
	URL     string
	process *process
}

// Flags protect what the shops have to be protected.
var Flags = []string{
	"--protect", "POST /checkout", "--protect", "POST /flow.php?step=done",
	"--forms", "GET /checkout*", "--forms", "GET /flow.php*",
}

// Front starts a gateway in front of a site, with a SQLite database of its own,
// unless more flags say otherwise. It is killed at cleanup.
func Front(t testing.TB, upstream string, more ...string) *Gateway {
	t.Helper()
	return run(t, exec.Command(program(t), arguments(t, upstream, more)...))
}

// FrontOn starts one that listens on a socket which somebody else has opened, as
// systemd does, and keeps open.
func FrontOn(t testing.TB, socket *os.File, upstream string, more ...string) *Gateway {
	t.Helper()
	// The process has to know its number, which only it knows before it runs.
	args := append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, program(t)}, arguments(t, upstream, more)...)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(cmd.Environ(), "LISTEN_FDS=1")
	cmd.ExtraFiles = []*os.File{socket}
	return run(t, cmd)
}

func arguments(t testing.TB, upstream string, more []string) []string {
	return append([]string{
		"gateway", "--addr", "127.0.0.1:0", "--upstream", upstream, "--db", "sqlite:" + filepath.Join(t.TempDir(), "gateway.db"),
	}, more...)
}

func run(t testing.TB, cmd *exec.Cmd) *Gateway {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "NEBIS_SECRET=the-same-for-all-gateways")
	p := start(t, "gateway", cmd)
	return &Gateway{"http://" + p.listening(), p}
}

// Kill ends it with SIGKILL.
func (g *Gateway) Kill() { g.process.kill() }

// Stop asks it to end: it finishes what runs.
func (g *Gateway) Stop() { g.process.stop() }

// Ended waits until it has ended, as it should.
func (g *Gateway) Ended() { g.process.ended() }

var built struct {
	sync.Once
	dir string
	err error
}

// program builds the program, once, without the race detector, which would take
// most of the time to start it.
func program(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "nebis-gateway-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", built.dir, "github.com/nebis-dev/nebis/cmd/nebis").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "nebis")
}

// Clean removes the program that was built, for TestMain.
func Clean() { os.RemoveAll(built.dir) }

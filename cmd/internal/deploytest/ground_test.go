//go:build linux

package deploytest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gatewaytest.Clean()
	os.Exit(code)
}

// ground is a folder for servers, and the servers themselves.
type ground struct {
	*testing.T
	dir string
}

// newGround makes one that Apache can read, which root's servers become somebody
// else in.
func newGround(t *testing.T) *ground {
	t.Helper()
	dir, err := os.MkdirTemp("", "nebis-deploy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &ground{t, dir}
}

func (g *ground) path(name string) string { return filepath.Join(g.dir, name) }

func (g *ground) write(name, text string) string {
	g.Helper()
	if err := os.WriteFile(g.path(name), []byte(text), 0o644); err != nil {
		g.Fatal(err)
	}
	return g.path(name)
}

// recipe reads a file of deploy/ and puts other words in place of some, each of which
// must be there.
func (g *ground) recipe(name string, replace ...string) string {
	g.Helper()
	data, err := os.ReadFile(filepath.Join("../../../deploy", name))
	if err != nil {
		g.Fatal(err)
	}
	text := string(data)
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			g.Fatalf("%s has no %q", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	return text
}

// need finds a program, or skips the test.
func need(t *testing.T, patterns ...string) string {
	t.Helper()
	for _, p := range patterns {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
		if found, _ := filepath.Glob("/usr/sbin/" + p); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("skipped: %s is not installed", patterns[0])
	return ""
}

// serve runs a server until the test ends, and waits until it takes connections at
// addr: host:port, or the path of a socket.
func (g *ground) serve(addr string, cmd *exec.Cmd) {
	g.Helper()
	cmd.Stdout, cmd.Stderr = g.Output(), g.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Apache ends all of its group
	if err := cmd.Start(); err != nil {
		g.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	g.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // so that it ends its children
		<-ended
	})
	for !accepts(addr) {
		select {
		case <-ended:
			g.Fatalf("%s has ended: %v", cmd.Path, cmd.ProcessState)
		case <-time.After(5 * time.Millisecond): // leaves the processor to it
		}
	}
}

func accepts(addr string) bool {
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// port finds a free one, below those that the system takes for outgoing connections.
func (g *ground) port() string {
	for {
		port := fmt.Sprint(10000 + rand.IntN(20000))
		if ln, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			ln.Close()
			return port
		}
	}
}

package dbtest

import (
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Redis is a Redis server of the test's own, which keeps nothing on disk.
type Redis struct {
	Addr     string // host:port, the same after every start
	Password string

	t      testing.TB
	bin    string
	folder *folder
	proc   *process
}

// StartRedis starts a server on a free port and waits until it answers; it is stopped at
// cleanup. Without Debian's package redis-server the test is skipped, or fails where
// nothing may be missing.
func StartRedis(t testing.TB) *Redis {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, "Redis: Debian's package redis-server has it (or run .ci/install)")
	}
	r := &Redis{t: t, bin: bin, Password: password}
	if r.folder, err = newFolder("redis"); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(r.folder.remove)
	t.Cleanup(r.Stop)
	for range 3 { // another program may take the free port first
		if r.Addr, err = freeAddr(); err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		if r.start() {
			return r
		}
	}
	t.Fatalf("dbtest: Redis has ended:\n%s", r.folder.logTail())
	return nil
}

// Start starts a stopped server again, empty, on the same port.
func (r *Redis) Start() {
	r.t.Helper()
	if !r.start() {
		r.t.Fatalf("dbtest: Redis has ended:\n%s", r.folder.logTail())
	}
}

// start returns false when the server ended before it listened.
func (r *Redis) start() bool {
	r.t.Helper()
	host, port, _ := net.SplitHostPort(r.Addr)
	var err error
	r.proc, err = r.folder.start(r.bin, "--bind", host, "--port", port, "--requirepass", r.Password,
		"--save", "", "--appendonly", "no", "--dir", r.folder.path)
	if err != nil {
		r.t.Fatalf("dbtest: %v", err)
	}
	for r.proc.running() {
		if c, err := net.Dial("tcp", r.Addr); err == nil {
			c.Close()
			return r.proc.running()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// Stop ends the server; what it knew is gone.
func (r *Redis) Stop() {
	if r.proc != nil && r.proc.running() {
		r.proc.stop(syscall.SIGTERM, 20*time.Second)
	}
}

package gatewaytest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
)

// process is a program that was started for a test. What it prints is in the
// test's log.
type process struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	opened chan string   // host:port
	done   chan struct{} // it has ended, with err
	err    error
}

func start(t testing.TB, name string, cmd *exec.Cmd) *process {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	p := &process{t: t, name: name, cmd: cmd, opened: make(chan string, 1), done: make(chan struct{})}
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(p.kill)
	return p
}

var address = regexp.MustCompile(`listening on (?:http://(127\.0\.0\.1:))?(\d+)|Server \(http://(127\.0\.0\.1:)(\d+)\) started`)

// read reads what the process prints until it has ended.
func (p *process) read(out *os.File) {
	defer close(p.done)
	defer out.Close()
	log := p.t.Output()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintf(log, "%s: %s\n", p.name, lines.Text())
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case p.opened <- "127.0.0.1:" + m[2] + m[4]:
			default:
			}
		}
	}
	p.err = p.cmd.Wait()
}

// listening waits until the process can be used, and returns where.
func (p *process) listening() string {
	p.t.Helper()
	select {
	case addr := <-p.opened:
		return addr
	case <-p.done:
		p.t.Fatalf("%s has ended: %v", p.name, p.err)
		return ""
	}
}

// kill ends the process with SIGKILL, and waits until it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// stop asks it to end, as systemd does.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
}

// ended waits until it has ended well.
func (p *process) ended() {
	p.t.Helper()
	<-p.done
	if p.err != nil {
		p.t.Errorf("%s ended with %v", p.name, p.err)
	}
}

func split(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

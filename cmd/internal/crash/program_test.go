package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/killed"
)

// A program is a site as its parent sees it.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *json.Encoder
	pipe io.Closer
	out  *json.Decoder
}

func (w *world) start(dsn string) *program {
	w.t.Helper()
	cmd := exec.Command(killed.Program)
	cmd.Env = append(os.Environ(), SiteEnv+"="+encode(SiteConfig{w.c.Driver, dsn, w.c.Dialect}))
	cmd.Stderr = w.t.Output()
	in, err := cmd.StdinPipe()
	w.must(err)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	p := &program{w.t, cmd, json.NewEncoder(in), in, json.NewDecoder(out)}
	w.t.Cleanup(func() { p.kill() })
	return p
}

// ask sends a request. A program that is dead says so by its silence.
func (p *program) ask(r request) { p.in.Encode(r) }

func (p *program) next() message {
	p.t.Helper()
	var m message
	if err := p.out.Decode(&m); err != nil {
		p.t.Fatalf("the program said nothing: %v", err)
	}
	return m
}

// answer waits for what the one Do under way returns.
func (p *program) answer() attempt {
	p.t.Helper()
	m := p.next()
	if m.Attempt == nil {
		p.t.Fatalf("the program stopped %s, want an answer", m.Stopped)
	}
	return *m.Attempt
}

// reaches waits until the one Do under way has stopped at s.
func (p *program) reaches(s step) {
	p.t.Helper()
	if m := p.next(); m.Stopped != s {
		p.t.Fatalf("the program said %s, want that it stopped %s", encode(m), s)
	}
}

// kill ends the program with SIGKILL and returns the answers that it had given.
func (p *program) kill() []attempt {
	p.cmd.Process.Kill()
	var given []attempt
	var m message
	for p.out.Decode(&m) == nil {
		if m.Attempt != nil {
			given = append(given, *m.Attempt)
		}
		m = message{}
	}
	p.cmd.Wait()
	p.pipe.Close()
	return given
}

func key(parts ...any) string { return fmt.Sprintf("%v-%v", parts[0], parts[1]) }

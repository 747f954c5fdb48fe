package outboxtests

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/killed"
)

// A process is a site as its parent sees it.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *json.Encoder
	pipe io.Closer
	said chan message // closed when it has ended
}

// lease is short, so that the calls of a dead process are soon taken over.
const lease = time.Second

func (w *world) start(t *testing.T, runs int, lease time.Duration) *process {
	t.Helper()
	cmd := exec.Command(killed.Program)
	config, err := json.Marshal(SiteConfig{w.c.Driver, w.dsn, w.c.Dialect, w.p.URL, runs, lease})
	must(t, err)
	cmd.Env = append(os.Environ(), SiteEnv+"="+string(config))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{t, cmd, json.NewEncoder(in), in, make(chan message, 10000)}
	go p.listen(json.NewDecoder(out))
	t.Cleanup(p.kill)
	return p
}

func (p *process) listen(out *json.Decoder) {
	defer close(p.said)
	for {
		var m message
		if out.Decode(&m) != nil {
			return
		}
		p.said <- m
	}
}

// place has it place an order. A process that is dead says so by its silence.
func (p *process) place(o order) { p.in.Encode(o) }

// says waits until the process says something that is wanted.
func (p *process) says(want func(message) bool) message {
	p.t.Helper()
	var heard []message
	for end := time.After(patience); ; {
		select {
		case m, ok := <-p.said:
			if !ok {
				p.t.Fatalf("the process has ended; it said %v", heard)
			}
			if want(m) {
				return m
			}
			heard = append(heard, m)
		case <-end:
			p.t.Fatalf("the process is silent; it said %v", heard)
		}
	}
}

func (p *process) reaches(s step) {
	p.t.Helper()
	p.says(func(m message) bool { return m.Stopped == s })
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.pipe.Close()
}

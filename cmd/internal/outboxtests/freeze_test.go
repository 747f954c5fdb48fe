//go:build unix

package outboxtests

import (
	"errors"
	"syscall"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// freeze stops the process with SIGSTOP and waits until it has stopped.
func (p *process) freeze() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func (p *process) thaw() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// A frozen process loses its call to another one. When it goes on, it saves
// nothing.
func TestAProcessFrozenDuringTheCall(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		w := newWorld(t, c)
		p := w.start(t, 1, lease)
		p.place(order{Name: "order-0", Stop: duringCall})
		<-w.p.reached
		p.freeze()
		w.finish(t)
		before, err := w.outbox(nil).Show(t.Context(), 1)
		must(t, err)
		p.thaw()
		if m := p.says(func(m message) bool { return m.Err != "" }); !m.Lost {
			t.Errorf("the frozen process said %+v", m)
		}
		after, err := w.outbox(nil).Show(t.Context(), 1)
		must(t, err)
		if before.State != outbox.Done || !after.UpdatedAt.Equal(before.UpdatedAt) {
			t.Errorf("%+v became %+v", before, after)
		}
		if charges, requests := w.p.seen("order-0"); charges != 1 || requests != 2 {
			t.Errorf("%d charges, %d requests", charges, requests)
		}
	})
}

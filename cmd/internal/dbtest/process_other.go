//go:build !linux

package dbtest

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// Servers are started on Linux only: the promise that none is left behind
// rests on its parent-death signal. Elsewhere this much compiles.

type account struct{}

type process struct {
	done chan struct{}
	err  error
}

var errOnlyLinux = errors.New("private database servers need Linux")

func unprivileged() (*account, error)          { return nil, errOnlyLinux }
func (*account) own(string) error              { return errOnlyLinux }
func setAttrs(*exec.Cmd, *account)             {}
func startProcess(*exec.Cmd) (*process, error) { return nil, errOnlyLinux }
func (*process) running() bool                 { return false }
func (*process) stop(os.Signal, time.Duration) {}
func (*process) kill()                         {}
func (*process) pause() error                  { return errOnlyLinux }
func (*process) resume() error                 { return errOnlyLinux }
func lockFile(string) (*os.File, error)        { return nil, errOnlyLinux }
func forgetShared(string)                      {}

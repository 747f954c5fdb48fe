package dbtest

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// account is the account that runs the servers: nil is the caller's own.
type account struct{ uid, gid uint32 }

// unprivileged returns the account nobody for root, because PostgreSQL refuses
// to run as root and a test server should not.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &account{uint32(uid), uint32(gid)}, err
}

// own gives path to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// setAttrs makes the child run as who, in a process group of its own (Ctrl-C
// is for the test, which then stops its servers), and die with its parent.
func setAttrs(cmd *exec.Cmd, who *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if who != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: who.uid, Gid: who.gid}
	}
}

// process is a started program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, once done is closed
}

// startProcess starts cmd. Pdeathsig follows the thread that started the
// child, not the process: that thread is kept until the child has ended, and
// ends with it.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop asks the process to end and kills it when it has not within the bound.
func (p *process) stop(sig os.Signal, within time.Duration) {
	p.resume() // a stopped process would never see the signal
	p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(within):
	}
	p.kill()
}

// kill ends the process and its descendants with SIGKILL. PostgreSQL's
// children sit in groups of their own, so killing the group is not enough.
func (p *process) kill() {
	if !p.running() {
		return
	}
	all := p.freeze()
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.done
	for _, pid := range all {
		awaitGone(pid)
	}
}

// freeze stops the process first, so that it starts no more children, then
// these, and returns all of them.
func (p *process) freeze() []int {
	var all []int
	// One look at /proc a generation: a busy server has many children.
	for level := []int{p.pid()}; len(level) > 0; level = children(level...) {
		for _, pid := range level {
			if syscall.Kill(pid, syscall.SIGSTOP) == nil {
				awaitState(pid, "T")
			}
		}
		all = append(all, level...)
	}
	return all
}

func (p *process) pause() error {
	if !p.running() {
		return os.ErrProcessDone
	}
	p.freeze()
	return nil
}

// resume lets the children go on before their parent.
func (p *process) resume() error {
	if !p.running() {
		return os.ErrProcessDone
	}
	for _, pid := range children(p.pid()) {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	return p.cmd.Process.Signal(syscall.SIGCONT)
}

// children returns the processes whose parent is pid.
func children(pids ...int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if _, parent := procStat(child); slices.Contains(pids, parent) {
			found = append(found, child)
		}
	}
	return found
}

// procStat returns the state letter and the parent of a process, "" when
// there is none.
func procStat(pid int) (state string, parent int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0
	}
	// The name, in brackets, may hold anything, blanks and brackets too.
	_, after, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
	fields := strings.Fields(after)
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// awaitState waits until the process has the state, or is gone; SIGSTOP works
// a moment after it was sent.
func awaitState(pid int, want string) {
	for range 2000 {
		if state, _ := procStat(pid); state == want || state == "" || state == "Z" {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitGone waits until the process has ended, even if nobody has reaped it.
func awaitGone(pid int) { awaitState(pid, "") }

// lockFile locks a file, creating it first; the lock ends with this process.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// forgetShared removes the small System V shared memory segment that a killed
// PostgreSQL leaves behind; its id is in the 7th line of postmaster.pid.
func forgetShared(folder string) {
	b, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
	lines := strings.Split(string(b), "\n")
	if err != nil || len(lines) < 7 {
		return
	}
	fields := strings.Fields(lines[6])
	if len(fields) != 2 {
		return
	}
	if id, err := strconv.Atoi(fields[1]); err == nil {
		const remove = 0 // IPC_RMID; a segment in use is refused or only marked
		syscall.Syscall(syscall.SYS_SHMCTL, uintptr(id), remove, 0)
	}
}

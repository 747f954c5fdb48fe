package dbtest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const folderPrefix = "nebis-dbtest-"

// folder is where one server lives: data, sockets, log. It belongs to the
// account that runs the server.
type folder struct {
	path string
	lock *os.File
	who  *account
}

func newFolder(product string) (*folder, error) {
	who, err := unprivileged()
	if err != nil {
		return nil, err
	}
	root := tempRoot(who)
	sweep(root)
	path, err := os.MkdirTemp(root, folderPrefix+strings.ToLower(product)+"-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path, who: who}
	// Locked before it has the name that sweep looks for.
	if f.lock, err = lockFile(f.in("new")); err == nil {
		err = os.Rename(f.in("new"), f.in("lock"))
	}
	if err == nil {
		err = who.own(path)
	}
	if err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// tempRoot returns a folder for temporary files that the account can reach.
func tempRoot(who *account) string {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if who == nil || reachable(dir) {
			return dir
		}
	}
	return os.TempDir()
}

// reachable reports whether every account may pass through dir and its parents.
func reachable(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// sweep removes the folders of processes that were killed before they could:
// whoever lives holds the lock of its folder.
func sweep(root string) {
	old, _ := filepath.Glob(filepath.Join(root, folderPrefix+"*", "lock"))
	for _, path := range old {
		if lock, err := lockFile(path); err == nil {
			forgetShared(filepath.Dir(path))
			os.RemoveAll(filepath.Dir(path))
			lock.Close()
		}
	}
}

func (f *folder) in(name string) string { return filepath.Join(f.path, name) }

func (f *folder) remove() {
	os.RemoveAll(f.path)
	if f.lock != nil {
		f.lock.Close()
	}
}

// run runs a program to its end as the folder's account.
func (f *folder) run(ctx context.Context, args ...string) error {
	p, err := f.start(args...)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), p.err, f.logTail())
	}
	return nil
}

// copy copies a file or a folder and gives the copy to the folder's account.
func (f *folder) copy(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			err = os.MkdirAll(target, 0o755)
		} else {
			err = copyFile(path, target)
		}
		if err != nil {
			return err
		}
		return f.who.own(target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// start starts a program as the folder's account; what it prints goes to log.
func (f *folder) start(args ...string) (*process, error) {
	log, err := os.OpenFile(f.in("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	f.dress(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	return startProcess(cmd)
}

// dress gives a command the account, the working folder and a small
// environment: neither a PG… variable nor an option file of the caller's counts.
func (f *folder) dress(cmd *exec.Cmd) {
	cmd.Dir = f.path
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin",
		"HOME=" + f.path, "TMPDIR=" + f.path, "LC_ALL=C",
		"LD_LIBRARY_PATH=" + f.path, // MySQL 5.6 brings its libaio
	}
	setAttrs(cmd, f.who)
}

// logTail returns the end of the log.
func (f *folder) logTail() string {
	log, err := os.Open(f.in("log"))
	if err != nil {
		return ""
	}
	defer log.Close()
	const most = 4000
	if info, err := log.Stat(); err == nil && info.Size() > most {
		log.Seek(-most, io.SeekEnd)
	}
	tail, _ := io.ReadAll(log)
	return string(tail)
}

// randomPort returns a port between 10000 and the first port of outgoing
// connections.
func randomPort() int {
	first := 32768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(b), &first)
	}
	if first < 11000 {
		first = 32768
	}
	return 10000 + rand.IntN(first-10000)
}

// Command with starts database servers, runs a command beside them and stops
// them again:
//
//	go run ./cmd/internal/dbtest/with -- go test ./cmd/...
//
// The command finds the servers in NEBIS_TEST_MARIADB, NEBIS_TEST_MYSQL and
// NEBIS_TEST_POSTGRES. When it is through, one line per database says what was
// exercised, by the server's own count. A server that cannot be had is a
// failure: -only chooses fewer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(os.Args[1:], signals, os.Stdout, os.Stderr))
}

// config is what the flags say.
type config struct {
	kinds   []dbtest.Kind
	all     bool
	opts    dbtest.Options
	command []string
}

func parse(args []string, stderr io.Writer) (config, error) {
	flags := flag.NewFlagSet("with", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "comma-separated `servers` to start: mariadb, mysql, postgresql (default all)")
	fast := flags.Bool("fast", false, "answer a COMMIT before the log is on disk")
	cache := flags.Int("cache", 0, "the `megabytes` that each server keeps of its tables in memory (default 64)")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	c := config{opts: dbtest.Options{Fast: *fast, Cache: *cache}, all: *only == "", command: flags.Args()}
	if len(c.command) == 0 {
		return c, fmt.Errorf("no command; use: with [-only servers] [-fast] [-cache megabytes] -- command arguments")
	}
	names := strings.Split(strings.ToLower(*only), ",")
	for _, k := range dbtest.Servers() {
		for _, name := range names {
			if c.all || name == strings.ToLower(k.String()) {
				c.kinds = append(c.kinds, k)
				break
			}
		}
	}
	if !c.all && len(c.kinds) != len(names) {
		return c, fmt.Errorf("-only %s: the servers are mariadb, mysql and postgresql", *only)
	}
	return c, nil
}

// run is the program: it returns the command's exit code, 2 when a server or
// the command could not be started.
func run(args []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "with:", err)
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	servers, err := startAll(ctx, cancel, c, signals)
	defer stopAll(servers)
	if err != nil {
		fmt.Fprintln(stderr, "with:", err)
		return 2
	}
	before, err := read(ctx, servers)
	if err != nil {
		fmt.Fprintln(stderr, "with:", err)
		return 2
	}
	ledger := filepath.Join(servers[0].Folder(), "ledger") // swept with it, should this process be killed
	code := runCommand(c, environment(c, servers, ledger), signals, stdout, stderr)
	if err := exercised(ctx, stdout, servers, before, ledger); err != nil {
		fmt.Fprintln(stderr, "with:", err)
		return max(code, 1)
	}
	return code
}

// startAll starts the servers beside each other and returns those that run. A
// signal ends the wait.
func startAll(ctx context.Context, cancel func(), c config, signals <-chan os.Signal) ([]*dbtest.Server, error) {
	started := make([]*dbtest.Server, len(c.kinds))
	errs := make([]error, len(c.kinds))
	var wg sync.WaitGroup
	for i, k := range c.kinds {
		wg.Go(func() { started[i], errs[i] = dbtest.Launch(ctx, k, &c.opts) })
	}
	ready := make(chan struct{})
	go func() { wg.Wait(); close(ready) }()
	var err error
	select {
	case <-ready:
		err = errors.Join(errs...)
	case <-signals:
		cancel()
		<-ready
		err = errors.New("interrupted")
	}
	return slices.DeleteFunc(started, func(s *dbtest.Server) bool { return s == nil }), err
}

func stopAll(servers []*dbtest.Server) {
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(s.Close)
	}
	wg.Wait()
}

// environment is the command's: where the servers are, and that none may be
// missing unless some were left out on purpose.
func environment(c config, servers []*dbtest.Server, ledger string) []string {
	env := append(os.Environ(), dbtest.LedgerEnv+"="+ledger)
	for _, k := range dbtest.Servers() {
		env = append(env, k.Env()+"=")
	}
	for _, s := range servers {
		env = append(env, s.Kind.Env()+"="+s.DSN)
	}
	require := dbtest.RequireEnv + "="
	if c.all {
		require += "1"
	}
	return append(env, require)
}

// runCommand runs the command in a process group of its own, so that a signal
// reaches all of it: go test and the test programs that it started.
func runCommand(c config, env []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	cmd := exec.Command(c.command[0], c.command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(stderr, "with:", err)
		return 2
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait()
	}()
	var hard <-chan time.Time
	for {
		select {
		case <-done:
			return exitCode(cmd.ProcessState)
		case sig := <-signals:
			syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal))
			hard = time.After(10 * time.Second)
		case <-hard:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}

// exitCode is the command's own, or that of a shell for a signal.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

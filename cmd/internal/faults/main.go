// Command faults plants faults in a copy of the library, one at a time, and
// demands that the tests find each of them:
//
//	go run ./cmd/internal/dbtest/with -fast -- go run ./cmd/internal/faults
//
// A fault is a small change of the library's text. First the tests are run
// without any fault, and have to pass; then with each fault, and have to fail
// within a minute, by a test that fails and not by a compiler that refuses.
// -markdown writes what was found as a page.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config is what the flags say.
type config struct {
	only     *regexp.Regexp
	markdown string
	list     bool
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "plant only the faults whose name matches the `regexp`")
	flags.StringVar(&c.markdown, "markdown", "", "write the table to this `file`")
	flags.BoolVar(&c.list, "list", false, "list the faults and plant none")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	c.only, err = regexp.Compile(*only)
	return c, err
}

// run is the program. It returns 0 when every fault was found, 1 when one was
// not, 2 when it could not try.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "faults:", err)
		return 2
	}
	var chosen []fault
	for _, f := range faults() {
		if c.only.MatchString(f.name) {
			chosen = append(chosen, f)
		}
	}
	if c.list {
		for _, f := range chosen {
			fmt.Fprintln(stdout, f.name)
		}
		return 0
	}
	results, err := plantAll(ctx, chosen, stdout)
	if err == nil && c.markdown != "" {
		err = os.WriteFile(c.markdown, []byte(page(results)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(stderr, "faults:", err)
		return 2
	}
	return missed(results, stdout)
}

// plantAll plants the faults one after the other in a copy of the tree.
func plantAll(ctx context.Context, chosen []fault, stdout io.Writer) ([]result, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	t, err := copyTree(root)
	if err != nil {
		return nil, err
	}
	defer t.remove()
	fmt.Fprintln(stdout, "without a fault:")
	if err := t.healthy(ctx, chosen, stdout); err != nil {
		return nil, err
	}
	fmt.Fprintln(stdout, "with a fault:")
	var results []result
	for _, f := range chosen {
		rs, err := t.plant(ctx, f)
		if err != nil {
			return results, fmt.Errorf("%s: %w", f.name, err)
		}
		for _, r := range rs {
			fmt.Fprintln(stdout, r)
		}
		results = append(results, rs...)
	}
	return results, nil
}

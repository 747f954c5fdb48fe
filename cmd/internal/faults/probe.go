package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A probe is the tests that have to find a fault: a package and what -run takes.
type probe struct {
	pkg string // below the root, "." is the library
	run string
	env []string
}

func (p probe) String() string {
	return strings.TrimSpace(strings.Join(p.env, " ") + " go test -run '" + p.run + "' ./" + strings.TrimPrefix(p.pkg, "."))
}

// A verdict is what a probe said.
type verdict struct {
	passed bool
	failed string // the test that failed, the innermost one
	line   string // its first line about it
	took   time.Duration
	output string
}

// most is how long tests may take to find a fault.
const most = time.Minute

// try builds the package's tests and runs them. An error: they could not be
// built, or ended without saying that a test had failed.
func (t *tree) try(ctx context.Context, p probe) (verdict, error) {
	program := filepath.Join(t.bin, strings.ReplaceAll(p.pkg, "/", "-")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./"+p.pkg)
	build.Dir = t.root
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("the tests of %s are not built: %w\n%s", p.pkg, err, out)
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	test := exec.CommandContext(limited, program, "-test.run", p.run, "-test.count=1", "-test.failfast")
	test.Dir = filepath.Join(t.root, p.pkg)
	test.Env = append(os.Environ(), p.env...)
	var out bytes.Buffer
	test.Stdout, test.Stderr = &out, &out
	begun := time.Now()
	err := test.Run()
	v := judge(out.String())
	v.took = time.Since(begun)
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err == nil && strings.Contains(v.output, "no tests to run"):
		return v, fmt.Errorf("%s names no test", p)
	case err == nil:
		v.passed = true
	case limited.Err() != nil:
		v.passed, v.line = true, "nothing found within a minute"
	case v.failed == "":
		return v, errors.Join(errors.New("the test program ended without a failed test"), err, errors.New(v.output))
	}
	return v, nil
}

var (
	failed = regexp.MustCompile(`(?m)^( *)--- FAIL: (\S+)`)
	logged = regexp.MustCompile(`(?m)^ +[a-z0-9_]+\.go:\d+: (.*)$`)
)

// judge finds the innermost test that failed, and its first line.
func judge(output string) verdict {
	v := verdict{output: output}
	deepest := -1
	for _, m := range failed.FindAllStringSubmatchIndex(output, -1) {
		if depth := m[3] - m[2]; depth > deepest {
			deepest, v.failed, v.line = depth, output[m[4]:m[5]], ""
			if l := logged.FindStringSubmatch(output[m[1]:]); l != nil {
				v.line = l[1]
			}
		}
	}
	return v
}

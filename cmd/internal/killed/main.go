// Package killed is for tests that start a program, and kill or freeze it.
package killed

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Program is the path of the program that the tests start and kill.
var Program string

// Main is TestMain of a package that has such a program in its folder site. With
// -v it prints the results at the end.
func Main(m *testing.M, results func(io.Writer)) {
	flag.Parse()
	dir, err := build()
	err = errors.Join(err,
		mysql.SetLogger(&mysql.NopLogger{}), // broken connections are what these tests are about
		flag.Set("test.parallel", "8"))      // they wait more than they work
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if testing.Verbose() {
		results(os.Stdout)
	}
	os.Exit(code)
}

// build builds the program, without the race detector, which would take most of the
// time that these tests have to start it again.
func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "nebis-killed-"); err != nil {
		return "", err
	}
	Program = filepath.Join(dir, "site")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", Program, "./site").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
}

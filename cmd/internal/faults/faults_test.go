package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The text that a fault replaces is still there, exactly once.
func TestEveryFaultFitsTheLibrary(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults() {
		texts := map[string]string{}
		for _, e := range f.edits {
			if _, ok := texts[e.file]; !ok {
				b, err := os.ReadFile(filepath.Join(root, e.file))
				if err != nil {
					t.Fatal(err)
				}
				texts[e.file] = string(b)
			}
			if texts[e.file], err = e.apply(texts[e.file]); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}

func TestEveryFaultHasANameAndATest(t *testing.T) {
	names := map[string]bool{}
	for _, f := range faults() {
		if f.name == "" || names[f.name] || len(f.edits) == 0 || len(f.foundBy) == 0 {
			t.Errorf("%q: no name, twice the same, no change or no test", f.name)
		}
		names[f.name] = true
	}
}

func TestTheInnermostFailureIsReported(t *testing.T) {
	v := judge(strings.Join([]string{
		"--- FAIL: TestConformance (0.10s)",
		"    --- FAIL: TestConformance/mariadb (0.10s)",
		"        --- FAIL: TestConformance/mariadb/Do/forgets_an_error (0.09s)",
		"            do.go:12: first line",
		"            do.go:13: second line",
		"FAIL",
	}, "\n"))
	if v.failed != "TestConformance/mariadb/Do/forgets_an_error" || v.line != "first line" {
		t.Errorf("test %q, line %q", v.failed, v.line)
	}
	if v := judge("panic: no test\n"); v.failed != "" {
		t.Errorf("test %q", v.failed)
	}
}

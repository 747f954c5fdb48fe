package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A fault is a change that breaks a promise of the library.
type fault struct {
	name    string
	edits   []edit
	foundBy []probe // each of them has to find it
}

// An edit replaces a piece of a file's text.
type edit struct{ file, old, new string }

// apply replaces old, which has to be there exactly once: a change of the
// library must not make a fault fall silent.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s has this text %d times, not once: %q", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

func faults() []fault {
	var all []fault
	for _, group := range [][]fault{
		claiming(), committing(), expiring(), cleaning(), clocks(), remembering(), losing(), waiting(), naming(), // the core
		calling(), minding(), ending(), saving(), compensating(), // the outbox
		verifying(), reading(), meaning(), acknowledging(), rerunning(), telling(), // callbacks
		measuring(), watching(), confining(), // numbers and units
	} {
		all = append(all, group...)
	}
	return all
}

// suite is a case of the conformance suite on one configuration.
func suite(config, name string) probe {
	test := "^TestConformance$"
	if strings.Contains(config, "@") {
		test = "^TestConformanceAtEveryOtherIsolationLevel$"
	}
	return probe{pkg: "cmd/internal/suite", run: test + "/^" + config + "$/" + levels(name)}
}

// levels is the expression for a test with a slash in its name.
func levels(name string) string {
	var parts []string
	for _, part := range strings.Split(strings.ReplaceAll(name, " ", "_"), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// worlds are random worlds on one product. Their plans are always the same
// ones; what the scheduler makes of them is not.
func worlds(product string, n int) probe {
	return probe{
		pkg: "cmd/internal/worlds", run: "^TestWorlds$/^" + product + "$",
		env: []string{"NEBIS_SEED=1", fmt.Sprintf("NEBIS_WORLDS=%d", n)},
	}
}

// test is a test of the package below cmd/internal, with its subtest.
func test(pkg, name string) probe {
	return probe{pkg: "cmd/internal/" + pkg, run: levels(name)}
}

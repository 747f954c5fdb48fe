package main

import (
	"fmt"
	"io"
	"strings"
)

// A result is one fault and one probe of it.
type result struct {
	fault fault
	probe probe
	verdict
}

func (r result) String() string {
	if r.passed {
		return fmt.Sprintf("  MISSED        %s\n                %s %s", r.fault.name, r.probe, r.line)
	}
	return fmt.Sprintf("  found %5.1f s %s\n                %s: %s", r.took.Seconds(), r.fault.name, r.failed, r.line)
}

// missed counts what was not found and returns the exit code.
func missed(results []result, stdout io.Writer) int {
	n := 0
	for _, r := range results {
		if r.passed {
			n++
		}
	}
	fmt.Fprintf(stdout, "%d faults planted and tried %d times, %d not found\n", count(results), len(results), n)
	return min(n, 1)
}

func count(results []result) int {
	names := map[string]bool{}
	for _, r := range results {
		names[r.fault.name] = true
	}
	return len(names)
}

const head = `# Planted faults

A test that has never failed proves little. Each line is a fault that was put
into the library on purpose, the test that found it, and what that test said
first. The page is written by

    go run ./cmd/internal/dbtest/with -fast -- go run ./cmd/internal/faults -markdown docs/faults.md

which plants each fault in a copy of the tree and demands that the named test
fails within a minute, after it has passed without the fault. The changes
themselves are in ` + "`cmd/internal/faults`" + `; one that no longer fits the
library's text fails ` + "`make test`" + `.

| fault | found by | after | its first words |
|---|---|---|---|
`

// page is the table as a page of the documentation.
func page(results []result) string {
	var b strings.Builder
	b.WriteString(head)
	for _, r := range results {
		if !r.passed {
			fmt.Fprintf(&b, "| %s | %s | %.1f s | %s |\n", cell(r.fault.name), code(r.failed), r.took.Seconds(), code(shorten(r.line)))
		}
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string { return "`" + strings.ReplaceAll(cell(s), "`", "'") + "`" }

func shorten(s string) string {
	if r := []rune(s); len(r) > 160 {
		return string(r[:157]) + "…"
	}
	return s
}

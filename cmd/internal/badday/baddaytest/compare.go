// Package baddaytest compares docs/adopt.md with what the bad day leaves behind.
package baddaytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/badday"
)

// pages are those that must have the programs and the numbers.
var pages = []string{"adopt.md", "adopt.zh-CN.md"}

// Gateway is the step of the gateway in front of a shop that is as it was.
const Gateway = 4

// Tool builds the command nebis and returns its path.
func Tool(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "nebis")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/nebis-dev/nebis/cmd/nebis").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// Compare fails the test unless nebis find counts, in the database at url, what both
// pages say of this step: event by event, and in all.
func Compare(t *testing.T, tool, url string, step int) {
	t.Helper()
	var got []int
	sum := 0
	for _, e := range badday.Events() {
		n, err := e.Duplicates(t.Context(), tool, url)
		if err != nil {
			t.Fatal(err)
		}
		got, sum = append(got, n), sum+n
	}
	got = append(got, sum)
	for _, page := range pages {
		rows := numbers(t, page)
		if len(rows) != len(got) {
			t.Fatalf("docs/%s has %d rows of numbers, want %d", page, len(rows), len(got))
		}
		for i, n := range got {
			if rows[i][step] != n {
				t.Errorf("docs/%s, row %d, step %d: %d, but it was %d", page, i+1, step, rows[i][step], n)
			}
		}
	}
	if n, err := badday.Wanted().Duplicates(t.Context(), tool, url); n != 1 || err != nil {
		t.Errorf("two orders that were meant: find says %d (%v), want 1", n, err)
	}
}

// numbers are the rows of a page's table that end with a number for each step and for the gateway.
func numbers(t *testing.T, page string) (rows [][5]int) {
	t.Helper()
	for line := range strings.Lines(doc(t, page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if row, ok := five(cells[max(0, len(cells)-5):]); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func five(cells []string) (row [5]int, ok bool) {
	for i, cell := range cells {
		n, err := strconv.Atoi(strings.Trim(cell, " *"))
		if err != nil {
			return row, false
		}
		row[i] = n
	}
	return row, len(cells) == 5
}

// DocsQuote fails the test unless all code of this language in both pages stands in
// these files, and each file has some of it.
func DocsQuote(t *testing.T, language string, files ...string) {
	t.Helper()
	for _, page := range pages {
		quoted := map[string]bool{}
		for _, block := range blocks(doc(t, page), language) {
			file := source(t, block, files)
			if file == "" {
				t.Errorf("docs/%s has code that is in none of the programs:\n%s", page, block)
			}
			quoted[file] = true
		}
		for _, file := range files {
			if !quoted[file] {
				t.Errorf("docs/%s has nothing of %s", page, file)
			}
		}
	}
}

// blocks are a page's pieces of code in a language.
func blocks(text, language string) (all []string) {
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(part, "```")
		all = append(all, code)
	}
	return all
}

// source is the file that has this code, in whatever depth it is indented there.
func source(t *testing.T, code string, files []string) string {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, indent := range []string{"", "\t", "\t\t", "    ", "        "} {
			if strings.Contains("\n"+string(text), "\n"+deeper(code, indent)) {
				return file
			}
		}
	}
	return ""
}

func deeper(code, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line != "\n" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

func doc(t *testing.T, page string) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

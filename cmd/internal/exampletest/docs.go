package exampletest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Page returns the text of a file by its path in the repository: docs/batch.md. The
// test is of a folder in cmd/examples.
func Page(t *testing.T, path string) string {
	t.Helper()
	return Source(t, filepath.Join("..", "..", "..", filepath.FromSlash(path)))
}

// Source returns the text of a file of the test's own folder.
func Source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// HasCode makes sure that the pages show Go code as it is.
func HasCode(t *testing.T, code string, pages ...string) {
	t.Helper()
	for _, page := range pages {
		if !strings.Contains(Page(t, page), "```go\n"+code+"```\n") {
			t.Errorf("%s does not have this code as it is:\n%s", page, code)
		}
	}
}

var code = regexp.MustCompile("(?s)```\\w*\n.*?```")

// SameCode makes sure that docs/NAME.md has the same code in both languages.
func SameCode(t *testing.T, name string) {
	t.Helper()
	want := code.FindAllString(Page(t, "docs/"+name+".md"), -1)
	got := code.FindAllString(Page(t, "docs/"+name+".zh-CN.md"), -1)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("docs/%s.zh-CN.md has the code\n%q\nand the English page\n%q", name, got, want)
	}
}

package nebis

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestTheModuleRequiresNothing(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"require", "replace", "toolchain"} {
		if strings.Contains(string(mod), word) {
			t.Errorf("go.mod has %q", word)
		}
	}
	if _, err := os.Stat("go.sum"); err == nil {
		t.Error("there is a go.sum")
	}
}

func TestOnlyTheStandardLibraryIsImported(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "cmd"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(name, "github.com/nebis-dev/nebis") {
				t.Errorf("%s imports %s", path, name)
			}
			if strings.HasPrefix(name, "github.com/nebis-dev/nebis/cmd") {
				t.Errorf("%s imports %s, of the other module", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

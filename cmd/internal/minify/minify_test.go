package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

const folder = "../../../nebisjs"

func TestWhatIsCommittedAgreesWithTheSource(t *testing.T) {
	files, err := build(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is not what nebis.js makes it (%v); in the root: go run ./cmd/internal/minify", name, err)
		}
	}
}

// Browsers of the last five years. esbuild rewrites what one of them cannot read.
func TestOldBrowsersCanReadIt(t *testing.T) {
	files, err := build(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dist/nebis.min.js", "dist/nebis.global.min.js"} {
		once := read(t, files[name], nil)
		for _, old := range []api.Engine{
			{Name: api.EngineChrome, Version: "96"}, {Name: api.EngineFirefox, Version: "94"}, {Name: api.EngineSafari, Version: "15"},
		} {
			if got := read(t, files[name], []api.Engine{old}); got != once {
				t.Errorf("%s: for %v it would have to be %s", name, old, got)
			}
		}
	}
}

func read(t *testing.T, source string, engines []api.Engine) string {
	t.Helper()
	out := api.Transform(source, api.TransformOptions{Engines: engines})
	if len(out.Errors) > 0 {
		t.Fatal(out.Errors)
	}
	return string(out.Code)
}

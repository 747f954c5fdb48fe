package main

import (
	"os"
	"path/filepath"
	"testing"
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

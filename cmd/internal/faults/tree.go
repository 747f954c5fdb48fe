package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A tree is a copy of the workspace to plant faults in.
type tree struct {
	root string
	bin  string // for test programs
}

// moduleRoot finds the folder of go.work above the working folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.work above the working folder")
		}
		dir = filepath.Dir(dir)
	}
}

func copyTree(root string) (*tree, error) {
	dir, err := os.MkdirTemp("", "nebis-faults-")
	if err != nil {
		return nil, err
	}
	t := &tree{root: filepath.Join(dir, "tree"), bin: filepath.Join(dir, "bin")}
	if err := errors.Join(os.Mkdir(t.bin, 0o755), copyFiles(root, t.root)); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// copyFiles copies what the Go command and the tests need: folders that git
// does not keep, and git's own, are left out.
func copyFiles(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		switch {
		case e.IsDir() && (rel == "bin" || rel == "dist" || rel != "." && strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !e.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

func (t *tree) remove() { os.RemoveAll(filepath.Dir(t.root)) }

// plant applies a fault, runs the tests that should find it, and takes it out
// again.
func (t *tree) plant(ctx context.Context, f fault) (results []result, err error) {
	undo, err := t.apply(f)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return nil, err
	}
	for _, p := range f.foundBy {
		v, err := t.try(ctx, p)
		if err != nil {
			return results, err
		}
		results = append(results, result{f, p, v})
	}
	return results, nil
}

// apply makes the fault's changes. undo takes back those that were made, also
// after an error.
func (t *tree) apply(f fault) (undo func() error, err error) {
	originals := map[string][]byte{}
	undo = func() (err error) {
		for file, text := range originals {
			err = errors.Join(err, os.WriteFile(file, text, 0o644))
		}
		return err
	}
	for _, e := range f.edits {
		file := filepath.Join(t.root, e.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return undo, err
		}
		if _, seen := originals[file]; !seen {
			originals[file] = text
		}
		changed, err := e.apply(string(text))
		if err != nil {
			return undo, err
		}
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// healthy runs every test that the faults name without a fault. One that fails
// then would prove nothing.
func (t *tree) healthy(ctx context.Context, chosen []fault, stdout io.Writer) error {
	tried := map[string]bool{}
	for _, f := range chosen {
		for _, p := range f.foundBy {
			if tried[p.String()] {
				continue
			}
			tried[p.String()] = true
			v, err := t.try(ctx, p)
			if err != nil {
				return err
			}
			if !v.passed {
				return fmt.Errorf("%s does not pass without a fault:\n%s", p, v.output)
			}
			fmt.Fprintf(stdout, "  ok %5.1f s  %s\n", v.took.Seconds(), p)
		}
	}
	return nil
}

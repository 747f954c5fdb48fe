// Command minify makes nebisjs/nebis.global.js and the files of nebisjs/dist from
// nebisjs/nebis.js:
//
//	go run ./cmd/internal/minify
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	os.Exit(run("nebisjs", os.Stderr))
}

func run(folder string, stderr io.Writer) int {
	files, err := build(folder)
	if err == nil {
		err = write(folder, files)
	}
	if err != nil {
		fmt.Fprintln(stderr, "minify:", err)
		return 1
	}
	return 0
}

func write(folder string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the files that are made, by their names within folder.
func build(folder string) (map[string]string, error) {
	source, err := os.ReadFile(filepath.Join(folder, "nebis.js"))
	if err != nil {
		return nil, err
	}
	plain, err := script(string(source))
	if err != nil {
		return nil, err
	}
	module, err1 := minify(string(source))
	small, err2 := minify(plain)
	return map[string]string{
		"nebis.global.js":          plain,
		"dist/nebis.min.js":        module,
		"dist/nebis.global.min.js": small,
	}, errors.Join(err1, err2)
}

const (
	exports = "export {send as fetch, prepare as guard}\n"
	global  = "self.nebis = {action, fetch: send, guard: prepare, newKey, outcome}\n"
)

// script turns the module into a plain script. A block keeps its names to itself
// and is shorter than a function.
func script(module string) (string, error) {
	body, ok := strings.CutSuffix(module, exports)
	if !ok {
		return "", fmt.Errorf("nebis.js does not end with %q", exports)
	}
	_, body, _ = strings.Cut(body, "\n\n") // the comment about the module
	body = strings.ReplaceAll(body, "\nexport let ", "\nlet ") + global
	body = strings.ReplaceAll("\t"+strings.ReplaceAll(body, "\n", "\n\t"), "\n\t\n", "\n\n")
	return "// window.nebis, for pages without modules. Made from nebis.js by\n" +
		"// go run ./cmd/internal/minify\n{\n" + strings.TrimSuffix(body, "\t") + "}\n", nil
}

// letters are fixed, because what one release has stored in a tab the next reads.
var letters = map[string]any{
	"_print": "p", "_tries": "t", "_answer": "a", "_signal": "s",
	"_name": "n", "_input": "i", "_busy": "b", "_timer": "m", "_done": "d",
}

func minify(source string) (string, error) {
	out := api.Transform(source, api.TransformOptions{
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Target: api.ES2021, MangleProps: "^_", MangleCache: letters,
	})
	var errs []error
	for _, m := range out.Errors {
		errs = append(errs, fmt.Errorf("%s: line %d: %s", m.Location.LineText, m.Location.Line, m.Text))
	}
	return string(out.Code), errors.Join(errs...)
}

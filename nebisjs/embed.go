// Package nebisjs is the browser side of Nebis: one key per intent, from the first
// click to the result page. Use it only on routes that are protected, since it sends
// POSTs again. docs/browser.md says what it does.
//
//	mux.Handle("GET /nebis/", nebisjs.Handler())
//	… nebisjs.Script("/nebis/") in the page's head, data-nebis on the form …
package nebisjs

import (
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist/nebis.global.min.js
var global string

//go:embed dist/nebis.min.js
var module string

// File is one of the two scripts. Its name changes with its contents, so it may be
// cached for ever.
type File struct {
	Name      string // nebis.global.min.0123456789abcdef.js
	Integrity string // for the attribute integrity: sha384-…
	Text      string
}

// Global is the plain script (window.nebis), Module the ES module.
var (
	Global = file("nebis.global.min", global)
	Module = file("nebis.min", module)
)

func file(name, text string) File {
	sum := sha512.Sum384([]byte(text))
	return File{
		Name:      name + "." + hex.EncodeToString(sum[:8]) + ".js",
		Integrity: "sha384-" + base64.StdEncoding.EncodeToString(sum[:]),
		Text:      text,
	}
}

// Handler serves both scripts under any path that ends with their names.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, f := range []File{Global, Module} {
			if path.Base(r.URL.Path) == f.Name {
				f.ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
}

// ServeHTTP serves the file, whatever the path, to be kept for a year.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Etag", `"`+f.Integrity+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	// A page of another origin may check its integrity.
	h.Set("Access-Control-Allow-Origin", "*")
	http.ServeContent(w, r, f.Name, time.Time{}, strings.NewReader(f.Text))
}

// Script returns the tag that loads the plain script from where Handler serves it;
// prefix is that path, such as "/nebis/", or a URL of another host. It belongs into
// the page's head.
func Script(prefix string) template.HTML {
	return template.HTML(`<script src="` + template.HTMLEscapeString(prefix+Global.Name) +
		`" integrity="` + Global.Integrity + `" crossorigin="anonymous" defer></script>`)
}

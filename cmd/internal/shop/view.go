package shop

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"github.com/nebis-dev/nebis/nebisjs"
)

//go:embed assets
var assets embed.FS

// view is what a page is made of.
type view struct {
	Lang, Title, Nav, Path string
	Database, Host         string
	Points                 int // of this visitor; 0 is not shown
	Data                   any
}

// T is a text of the page's language.
func (v view) T(key string, args ...any) string { return say(v.Lang, key, args...) }

// Script loads the client, on every page: it does nothing where nothing asks for it.
func (v view) Script() template.HTML { return nebisjs.Script(clientPath) }

// Noun is what is counted, in the page's language.
func (v view) Noun(key string, n int) string { return noun(v.Lang, key, n) }

// policy lets a page have what the shop itself serves, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// view begins a page for a request.
func (s *Shop) view(r *http.Request, title string) view {
	return view{Lang: langOf(r), Title: title, Path: r.URL.Path, Database: s.sql.name, Host: r.Host}
}

// render writes the whole page or, should a template fail, an error: never half
// a page.
func (s *Shop) render(w http.ResponseWriter, status int, name string, v view) {
	var out bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&out, "layout", v); err != nil {
		s.log.Error("page", "name", name, "err", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.Lang)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache, private")
	}
	h.Add("Vary", "Accept-Language, Cookie")
	w.WriteHeader(status)
	w.Write(out.Bytes())
}

// parsePages makes one template for each page, set into the layout. What came from a
// visitor is escaped by html/template, by where it stands.
func parsePages() (map[string]*template.Template, error) {
	set := map[string]*template.Template{}
	for _, name := range []string{"goods", "order", "placed", "orders", "basket", "batch", "client", "free", "message", "provider", "life"} {
		t, err := template.ParseFS(assets, "assets/layout.html", "assets/"+name+".html")
		if err != nil {
			return nil, err
		}
		set[name] = t
	}
	return set, nil
}

package gateway

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/html"

	"github.com/nebis-dev/nebis/nebishttp"
)

const (
	maxToken = 4 << 20   // a longer script or picture in the page ends the work on it
	maxForm  = 256 << 10 // how much of a form is held back until its end is known
	maxBatch = 32 << 10
)

// injector reads a page and puts into its forms what they need. What it passes on
// are the bytes that it has read, never what the tokenizer made of them: all but
// the insertions is the same by construction.
type injector struct {
	src  io.Reader
	z    *html.Tokenizer
	page pageFacts
	seen func(why string) // told of every form
	dry  bool             // only tell

	pending []byte // read by the tokenizer, not yet passed on
	out     []byte // to be read from here
	err     error  // the end of the page, or what broke it

	form      *form // the one that is open
	templates int   // that are open
	foreign   bool  // inside of svg or math
	base      *place
	scripted  bool
	given     bool // up: the rest passes as it is
	inserted  int  // forms that got a key
}

// pageFacts is what has to be known of the page from outside.
type pageFacts struct {
	hosts  []string
	policy scriptPolicy
	script bool // the page may have the script
}

func newInjector(src io.Reader, facts pageFacts) *injector {
	in := &injector{src: src, page: facts, seen: func(string) {}}
	in.z = html.NewTokenizer(tap{in})
	in.z.SetMaxBuf(maxToken)
	return in
}

// tap notes what the tokenizer reads.
type tap struct{ in *injector }

func (t tap) Read(p []byte) (int, error) {
	n, err := t.in.src.Read(p)
	t.in.pending = append(t.in.pending, p[:n]...)
	return n, err
}

// Read returns as soon as it has something and would have to wait for more.
func (in *injector) Read(p []byte) (int, error) {
	for in.err == nil && (len(in.out) == 0 || len(in.out) < maxBatch && bytes.IndexByte(in.pending, '>') >= 0) {
		in.step()
	}
	if len(in.out) > 0 {
		n := copy(p, in.out)
		in.out = in.out[n:]
		return n, nil
	}
	if !errors.Is(in.err, html.ErrBufferExceeded) {
		return 0, in.err
	}
	return in.src.Read(p)
}

// begin works until it is certain whether the page is changed, but not on more
// than limit bytes.
func (in *injector) begin(limit int) (changed bool) {
	for in.err == nil && in.inserted == 0 && len(in.out) < limit {
		in.step()
	}
	return in.inserted > 0 || in.err == nil
}

// step takes one token.
func (in *injector) step() {
	if in.given {
		in.end(html.ErrBufferExceeded)
		return
	}
	kind := in.z.Next()
	n := len(in.z.Raw()) // before anything else: names are made small in there
	switch kind {
	case html.ErrorToken:
		in.end(in.z.Err())
	case html.StartTagToken, html.SelfClosingTagToken:
		in.startTag(n, kind)
	case html.EndTagToken:
		in.endTag(n)
	default:
		in.pass(n)
	}
}

// end passes on what is left. A form whose end is not in the page reaches to the
// end of it; where the end is not known, the form is left alone.
func (in *injector) end(err error) {
	in.err = err
	if in.form != nil && !errors.Is(err, io.EOF) {
		in.form.why = formBroken
	}
	in.closeForm()
	in.pass(len(in.pending))
}

// pass hands on n bytes as they are, or holds them back with their form.
func (in *injector) pass(n int) {
	raw := in.pending[:n]
	in.pending = in.pending[n:]
	if in.form == nil || !in.form.holding {
		in.out = append(in.out, raw...)
		return
	}
	in.form.held = append(in.form.held, raw...)
	if len(in.form.held) > maxForm {
		in.letGo()
	}
}

func (in *injector) startTag(n int, kind html.TokenType) {
	t := in.readTag()
	defer in.pass(n)
	switch t.name {
	case "form":
		in.openForm(t, n)
	case "template":
		in.templates++
	case "base":
		if href, ok := t.attrs["href"]; ok && in.base == nil {
			p := placeOf(href)
			in.base = &p
		}
	case "meta":
		in.meta(t)
	case "svg", "math":
		in.enter(kind == html.StartTagToken)
	}
	if kind == html.SelfClosingTagToken && in.foreign {
		in.z.NextIsNotRawText() // <title/> in a picture is whole
	}
	if in.form != nil && in.templates == 0 {
		in.form.sees(t, in)
	}
}

func (in *injector) endTag(n int) {
	name, _ := in.z.TagName()
	switch string(name) {
	case "form":
		if in.templates == 0 {
			in.closeForm()
		}
	case "template":
		in.templates = max(0, in.templates-1)
	case "svg", "math":
		in.enter(false)
	}
	in.pass(n)
}

func (in *injector) enter(foreign bool) {
	in.foreign = foreign
	in.z.AllowCDATA(foreign)
}

// meta looks for a policy in the page, and for a charset in which < may be half of
// some other letter.
func (in *injector) meta(t tag) {
	if strings.EqualFold(t.attrs["http-equiv"], "content-security-policy") {
		in.page.policy.add(t.attrs["content"])
	}
	if !isASCII(t.attrs["charset"]) || strings.EqualFold(t.attrs["http-equiv"], "content-type") && !isASCII(charsetIn(t.attrs["content"])) {
		in.given = true
	}
}

// charsetIn finds the charset in a Content-Type.
func charsetIn(s string) string {
	_, charset, _ := strings.Cut(strings.ToLower(s), "charset=")
	charset, _, _ = strings.Cut(strings.Trim(charset, `"' `), ";")
	return strings.Trim(charset, `"' `)
}

// isASCII reports whether in a charset the bytes of ASCII always mean themselves.
func isASCII(charset string) bool {
	charset = strings.ToLower(charset)
	for _, other := range []string{"iso-2022", "csiso2022", "hz", "utf-7", "utf7", "utf-16", "utf-32", "ucs-2"} {
		if strings.HasPrefix(charset, other) {
			return false
		}
	}
	return true
}

// field is the hidden input, and the script the first time.
func (in *injector) field() string {
	s := string(nebishttp.Field(noHeader{}, nil))
	if in.scripted || !in.page.script {
		return s
	}
	in.scripted = true
	nonce, ok := in.page.policy.admit()
	switch {
	case !ok:
		return s
	case nonce != "":
		nonce = ` nonce="` + template.HTMLEscapeString(nonce) + `"`
	}
	return s + `<script src="` + clientScript + "?v=" + scriptVersion + `" defer` + nonce + `></script>`
}

// noHeader takes the header that goes with a field; the page's is made in one
// place, whichever forms it has.
type noHeader struct{ http.ResponseWriter }

func (noHeader) Header() http.Header { return http.Header{} }

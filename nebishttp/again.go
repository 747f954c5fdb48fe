package nebishttp

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// A person whose form was not carried out is offered to send the same fields as
// a new operation, on purpose. Up to these bounds the fields go through the page.
const (
	againFields = 200
	againBytes  = 64 << 10
)

// again is a form to be sent anew.
type again struct {
	media  string
	fields url.Values
}

// asNew is the problem for the request q: with its fields, if it is one that did
// nothing and that sending them again under a new key could mend.
func (p Problem) asNew(q *request) Problem {
	if q != nil && (p.name == mismatch.name || p.name == keyMissing.name || p.name == keyMalformed.name) {
		p.again = q.again()
	}
	return p
}

// again is what a person sends anew: nil where it is no person's form, or cannot go
// through a page.
func (q *request) again() *again {
	if isPerson(q.r) && q.whole && fits(q.form) && q.takesNewKey() {
		return &again{mediaType(q.r), q.form.values}
	}
	return nil
}

// takesNewKey reports whether a new key in the form would be taken: not where a
// middleware outside of ours gives the key from something else.
func (q *request) takesNewKey() bool {
	given, ok := q.r.Context().Value(ctxKey).(string)
	if !ok {
		return true
	}
	key, err := fieldKey(q.form.values[keyField])
	return err == nil && key == given
}

// fits reports whether the fields can go through a page: they are text, and not
// too much of it.
func fits(f form) bool {
	if len(f.files) > 0 {
		return false
	}
	fields, bytes := 0, 0
	for name, values := range f.values {
		for _, v := range values {
			fields, bytes = fields+1, bytes+len(name)+len(v)
			if !utf8.ValidString(name) || !utf8.ValidString(v) {
				return false // of a page in another charset than ours
			}
		}
	}
	return fields <= againFields && bytes <= againBytes
}

// Again returns a form with one button, text, that sends the fields of the
// refused request again under a new key: for a person who wants that. It is empty
// where it would not help, and for files, which cannot be sent by a page. For
// [Options.Problem]; the page of ours has it. Call it before the status is written.
func (p Problem) Again(w http.ResponseWriter, r *http.Request, text string) template.HTML {
	if p.again == nil {
		return ""
	}
	var b strings.Builder
	// Without an action the form goes to where this page's request went.
	b.WriteString(`<form method="post" enctype="` + template.HTMLEscapeString(p.again.media) + `">` + string(Field(w, r)))
	for _, name := range p.again.names() {
		for _, v := range p.again.fields[name] {
			b.WriteString(`<input type="hidden" name="` + template.HTMLEscapeString(name) + `" value="` + template.HTMLEscapeString(v) + `">`)
		}
	}
	b.WriteString(`<button>` + template.HTMLEscapeString(text) + `</button></form>`)
	return template.HTML(b.String())
}

func (a *again) names() []string {
	var names []string
	for name := range a.fields {
		if name != keyField {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

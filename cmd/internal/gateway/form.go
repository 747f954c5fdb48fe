package gateway

import (
	"slices"
	"strings"
)

// What becomes of a form, for reports.
const (
	formKeyed    = "gets a key"
	formOwnKey   = "has a key of its own"
	formMethod   = "is no POST"
	formElse     = "leads to another host"
	formButton   = "has a button that leads to another host"
	formOff      = `says data-nebis="off"`
	formTemplate = "is in a template"
	formBroken   = "is in a page that breaks off, or that has too long a script"
)

const (
	keyField = "idempotency_key"
	marked   = "data-nebis" // what the script looks for
)

// tag is a start tag. Of an attribute that is there twice the tokenizer tells the
// first, as browsers do.
type tag struct {
	name  string
	attrs map[string]string
}

func (in *injector) readTag() tag {
	name, more := in.z.TagName()
	if !in.matters(name) {
		return tag{} // most are of no interest
	}
	t := tag{name: string(name)}
	for more {
		var key, value []byte
		key, value, more = in.z.TagAttr()
		if t.attrs == nil {
			t.attrs = map[string]string{}
		}
		t.attrs[string(key)] = string(value)
	}
	return t
}

// matters reports whether such a tag changes anything.
func (in *injector) matters(name []byte) bool {
	switch string(name) {
	case "form", "base", "meta", "template", "svg", "math":
		return true
	}
	return in.form != nil && in.form.wanted()
}

// form is one that is open. Browsers ignore a form inside of it.
type form struct {
	why     string // formKeyed: it gets one, as far as is known
	id      string
	marked  bool
	holding bool   // until it is known whether it has a key
	held    []byte // from its start tag on
	tag     int    // length of that
}

func (f *form) wanted() bool { return f.why == formKeyed }

// openForm begins to hold a form back that may get a key.
func (in *injector) openForm(t tag, n int) {
	if in.templates > 0 {
		in.seen(formTemplate)
		return
	}
	if in.form != nil {
		return
	}
	_, isMarked := t.attrs[marked]
	in.form = &form{why: in.judge(t), id: t.attrs["id"], marked: isMarked, tag: n}
	in.form.holding = in.form.wanted()
}

// judge says what becomes of a form, as far as its own tag tells.
func (in *injector) judge(t tag) string {
	switch {
	case !strings.EqualFold(t.attrs["method"], "post"):
		return formMethod
	case strings.EqualFold(t.attrs[marked], "off"):
		return formOff
	case !in.isHere(t.attrs["action"]):
		return formElse
	}
	return formKeyed
}

func (in *injector) isHere(action string) bool {
	base := place{http: true}
	if in.base != nil && (in.base.host != "" || !in.base.http) {
		base = *in.base
	}
	if strings.TrimSpace(action) == "" { // an empty action is the page's own address
		return true
	}
	return placeOf(action).at(in.page.hosts, base)
}

// sees looks at a tag inside of the form.
func (f *form) sees(t tag, in *injector) {
	if !f.wanted() {
		return
	}
	if owner, ok := t.attrs["form"]; ok && owner != f.id {
		return // it belongs to another form
	}
	if t.attrs["name"] == keyField && slices.Contains([]string{"input", "select", "textarea", "button"}, t.name) {
		f.why = formOwnKey
	}
	if action, ok := t.attrs["formaction"]; ok && !in.isHere(action) {
		f.why = formButton
	}
	if !f.wanted() && f.holding {
		in.release(f)
	}
}

// release passes on what was held back, as it is.
func (in *injector) release(f *form) {
	in.out = append(in.out, f.held...)
	f.held, f.holding = nil, false
}

// closeForm puts the key into the form that ends here.
func (in *injector) closeForm() {
	f := in.form
	in.form = nil
	if f == nil {
		return
	}
	in.seen(f.why)
	keyed := f.wanted() && !in.dry
	if keyed {
		in.inserted++
	}
	switch {
	case !f.holding && keyed: // it was too long to be held back
		in.out = append(in.out, in.field()...)
	case f.holding && keyed:
		in.mark(f)
		in.out = append(in.out, f.held[:f.tag]...)
		in.out = append(in.out, in.field()...)
		in.out = append(in.out, f.held[f.tag:]...)
	case f.holding:
		in.release(f)
	}
}

// mark writes "<form data-nebis" of the tag that is held back.
func (in *injector) mark(f *form) {
	if f.marked {
		return
	}
	const name = len("<form")
	in.out = append(in.out, f.held[:name]...)
	in.out = append(in.out, " "+marked...)
	f.held, f.tag = f.held[name:], f.tag-name
}

// letGo passes on what was held back of a form that is too long: its key comes at
// its end.
func (in *injector) letGo() {
	f := in.form
	if !in.dry {
		in.mark(f)
	}
	in.release(f)
}

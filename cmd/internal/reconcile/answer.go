package reconcile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/keytable"
	"github.com/nebis-dev/nebis/cmd/internal/pointer"
)

// A Source is a place where an answer has the id of its row.
type Source struct {
	text     string
	location *regexp.Regexp // with the id in its first group; nil: text is a pointer
}

// Sources is for help texts and error messages.
const Sources = "/id (a JSON pointer) or location:/orders/{id} (part of the Location header)"

// ParseSource reads a JSON pointer into the answer's JSON ("" is the whole of it), or
// "location:" and a piece of the Location header with {id} in it, which may stand
// anywhere in the header: /orders/{id} is in /api/orders/7?new=1 as well.
func ParseSource(s string) (Source, error) {
	shape, ok := strings.CutPrefix(s, "location:")
	switch {
	case !ok && (s == "" || s[0] == '/'):
		return Source{text: s}, nil
	case !ok || strings.Count(shape, "{id}") != 1:
		return Source{}, fmt.Errorf("%q is not like %s", s, Sources)
	}
	before, after, _ := strings.Cut(shape, "{id}")
	end := `(?:[/?&#;]|$)`
	if after != "" {
		end = ""
	}
	return Source{s, regexp.MustCompile(regexp.QuoteMeta(before) + `([^/?&#;]+)` + regexp.QuoteMeta(after) + end)}, nil
}

// An answer is what a stored answer says of its row.
type answer struct {
	refusal bool   // there is no row
	notKept bool   // nothing is said
	why     string // why it cannot be read
	id      string
	noJSON  bool
	wants   []any // for each Same, where there is JSON
}

// read takes out of a stored answer what is compared, so that the answer itself need
// not stay in memory.
func (o *Options) read(response []byte) answer {
	if response == nil {
		return answer{notKept: true}
	}
	body, location, cut := response, "", false
	if s := keytable.ReadStored(response); s != nil {
		if s.Status >= http.StatusBadRequest {
			return answer{refusal: true}
		}
		body, location, cut = []byte(s.Body), http.Header(s.Header).Get("Location"), s.NotKept > 0
		if s.Body64 != nil {
			body = s.Body64
		}
	}
	doc, err := document(body)
	a := answer{noJSON: err != nil && len(o.Same) > 0}
	for _, source := range o.IDs {
		if id, ok := source.in(doc, err == nil, location); ok {
			a.id = id
			if err == nil {
				a.wants, a.why = o.wants(doc)
			}
			return a
		}
	}
	if cut {
		return answer{notKept: true}
	}
	a.why = "the answer has no " + o.sought()
	return a
}

func document(body []byte) (doc any, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err = dec.Decode(&doc); err == nil && dec.More() {
		err = errors.New("more than one value")
	}
	return doc, err
}

// in finds the id, which is a text or a number.
func (s Source) in(doc any, there bool, location string) (string, bool) {
	if s.location != nil {
		found := s.location.FindStringSubmatch(location)
		if found == nil {
			return "", false
		}
		id, err := url.PathUnescape(found[1])
		return id, err == nil
	}
	if !there {
		return "", false
	}
	switch v, _ := pointer.To(doc, s.text); v := v.(type) {
	case string:
		return v, v != ""
	case json.Number:
		return v.String(), true
	}
	return "", false
}

func (o *Options) sought() string {
	var all []string
	for _, s := range o.IDs {
		all = append(all, s.text)
	}
	return strings.Join(all, ", nor ")
}

// wants are the values of the answer that the row must have.
func (o *Options) wants(doc any) (all []any, why string) {
	for _, s := range o.Same {
		v, ok := pointer.To(doc, s.pointer)
		if !ok {
			return nil, "the answer has no " + s.pointer
		}
		switch v.(type) {
		case map[string]any, []any:
			return nil, s.pointer + " of the answer is not one value"
		}
		all = append(all, v)
	}
	return all, ""
}

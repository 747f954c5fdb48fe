package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/pointer"
	"github.com/nebis-dev/nebis/nebishttp"
)

// FindKey returns the key of a request, "" where it has none: that of the first of
// the route's sources that has one. body is what the request's body begins with;
// whole says that it is all of it. A key that lies behind it is not found. An error
// is a [nebis.ErrKey].
func (r *Route) FindKey(req *http.Request, body []byte, whole bool) (string, error) {
	for _, source := range r.Key {
		key, err := source.find(req, body, whole)
		if key != "" || err != nil {
			return key, err
		}
	}
	return "", nil
}

// find returns the key that the source has; each of its names has to be there.
func (k KeySource) find(r *http.Request, body []byte, whole bool) (string, error) {
	parts := make([]any, len(k.Names))
	for i, name := range k.Names {
		v, err := k.one(r, body, whole, name)
		if v == "" || err != nil {
			return "", err
		}
		parts[i] = v
	}
	if len(parts) == 1 {
		return fitting(parts[0].(string)), nil
	}
	return nebishttp.BusinessKey(parts...), nil
}

// fitting is a key as the table takes it: whatever a site's own field holds.
func fitting(key string) string {
	if len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return nebishttp.BusinessKey(key)
	}
	return key
}

func (k KeySource) one(r *http.Request, body []byte, whole bool, name string) (string, error) {
	switch k.Place {
	case sourceHeader:
		// Quoted or bare, as the key's own header is.
		return nebishttp.KeyOf(&http.Request{Header: http.Header{"Idempotency-Key": r.Header[name]}})
	case sourceQuery:
		values, _ := url.ParseQuery(r.URL.RawQuery)
		return only(name, values[name])
	case sourceForm:
		return only(name, formValues(r, body, whole, name))
	}
	return jsonValue(body, whole, name), nil
}

// only is the one value that is there, if the others are the same or empty.
func only(name string, values []string) (string, error) {
	found := ""
	for _, v := range values {
		v = strings.Trim(v, " \t\r\n")
		if found != "" && v != "" && v != found {
			return "", fmt.Errorf("%w: the request has two different values of %q, which is its key", nebis.ErrKey, name)
		}
		if v != "" {
			found = v
		}
	}
	return found, nil
}

// formValues are the values of a form's field in what there is of the body.
func formValues(r *http.Request, body []byte, whole bool, name string) []string {
	media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch media {
	case "application/x-www-form-urlencoded":
		if !whole { // the last field may be cut
			body = body[:max(0, bytes.LastIndexByte(body, '&'))]
		}
		values, _ := url.ParseQuery(string(body))
		return values[name]
	case "multipart/form-data":
		return partValues(multipart.NewReader(bytes.NewReader(body), params["boundary"]), name)
	}
	return nil
}

// partValues reads as far as the parts go; one that is cut is none.
func partValues(parts *multipart.Reader, name string) (values []string) {
	for {
		part, err := parts.NextPart()
		if err != nil {
			return values
		}
		if part.FormName() != name || part.FileName() != "" {
			continue
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return values
		}
		values = append(values, string(text))
	}
}

// jsonValue follows a pointer in what there is of a body; a text or a number can be
// a key.
func jsonValue(body []byte, whole bool, path string) string {
	body = bytes.TrimPrefix(body, utf8BOM)
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, n := range names {
		names[i] = pointer.Unescape(n)
	}
	if goTo(dec, names) != nil {
		return ""
	}
	var v any
	if dec.Decode(&v) != nil || !whole && dec.InputOffset() == int64(len(body)) { // a number may be cut
		return ""
	}
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

var errNotThere = errors.New("not there")

// goTo reads up to the value that the names lead to.
func goTo(dec *json.Decoder, names []string) error {
	for _, name := range names {
		open, err := dec.Token()
		if err != nil {
			return err
		}
		if err := goIn(dec, open, name); err != nil {
			return err
		}
	}
	return nil
}

// goIn reads an object or an array up to a member of it.
func goIn(dec *json.Decoder, open json.Token, name string) error {
	for i := 0; dec.More(); i++ {
		at := fmt.Sprint(i)
		switch open {
		case json.Delim('{'):
			key, err := dec.Token()
			if err != nil {
				return err
			}
			at = key.(string)
		case json.Delim('['):
		default:
			return errNotThere
		}
		if at == name {
			return nil
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
	}
	return errNotThere
}

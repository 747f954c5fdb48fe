package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/pointer"
)

// Success says which answers of the site mean that the write has taken effect.
// Every rule that is given must hold.
type Success struct {
	Status      []StatusRange
	Body        glob      // the whole body but for blanks around it; * is anything
	JSON        *jsonRule // a member of the body, and its value
	NotLocation glob      // a path that a redirect must not lead to: the login page
}

func (s *Success) hasRule() bool {
	return s.Body.text != "" || s.JSON != nil || s.NotLocation.text != ""
}

// parseBody reads a body rule, where only * is special: bodies have braces and
// percent signs.
func parseBody(s string) (glob, error) {
	parts := strings.Split(s, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	re, err := regexp.Compile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
	return glob{text: s, re: re}, err
}

// parseLocation reads a path, with * and {name}.
func parseLocation(s string) (glob, error) {
	if s != "" && s[0] != '/' {
		return glob{}, fmt.Errorf("%q does not begin with a slash", s)
	}
	return parseGlob(s, pathMark)
}

// Holds judges an answer.
func (s *Success) Holds(status int, header http.Header, body []byte) bool {
	switch {
	case !s.hasStatus(status):
		return false
	case s.Body.text != "" && !s.Body.match(string(bytes.TrimSpace(bytes.TrimPrefix(body, utf8BOM)))):
		return false
	case s.JSON != nil && !s.JSON.holds(body):
		return false
	}
	return s.NotLocation.text == "" || !s.leadsTo(header.Get("Location"))
}

// utf8BOM is what some editors put before a PHP file, and so before its answer.
var utf8BOM = []byte("\xef\xbb\xbf")

func (s *Success) hasStatus(status int) bool {
	for _, r := range s.Status {
		if status >= r.First && status <= r.Last {
			return true
		}
	}
	return false
}

func (s *Success) leadsTo(location string) bool {
	u, err := url.Parse(location)
	return location != "" && (err != nil || s.NotLocation.match(tidy(u.Path)))
}

// jsonRule is /pointer=value; without the value the member must be there, and not
// be null.
type jsonRule struct {
	text    string
	pointer string
	want    any
	given   bool
}

func parseJSONRule(s string) (*jsonRule, error) {
	if s == "" {
		return nil, nil
	}
	path, value, given := strings.Cut(s, "=")
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%q is not like /code=0, /status=paid or /order/id", s)
	}
	return &jsonRule{s, path, scalar(value), given}, nil
}

// scalar reads a value as JSON does; what is none is a text.
func scalar(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	switch v.(type) {
	case float64, bool, nil, string:
		return v
	}
	return s
}

func (j *jsonRule) holds(body []byte) bool {
	var doc any
	if json.Unmarshal(bytes.TrimPrefix(body, utf8BOM), &doc) != nil {
		return false
	}
	got, ok := pointer.To(doc, j.pointer)
	if !j.given {
		return ok && got != nil
	}
	switch got.(type) {
	case float64, bool, nil, string:
		return ok && got == j.want
	}
	return false
}

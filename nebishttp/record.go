package nebishttp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// record is the stored answer. Its JSON is made for people to read:
//
//	{"status":201,"header":{"Location":["/orders/1"]},"body":"{\"id\":1}"}
//
// A body that is not text, or would grow more by escaping than in base64, is in
// body64. Of one above the limit only the size is kept, in not_kept.
type record struct {
	answer
	size int  // of the body that was not kept
	kept bool // false: there is no answer to replay
}

// stored is the JSON of a record.
type stored struct {
	Status   int                 `json:"status"`
	Header   http.Header         `json:"header,omitempty"`
	Header64 map[string][][]byte `json:"header64,omitempty"` // those that are not UTF-8
	Body     string              `json:"body,omitempty"`
	Body64   []byte              `json:"body64,omitempty"`
	NotKept  int                 `json:"not_kept,omitempty"`
}

// newRecord keeps of an answer what a replay may show: of the header the names
// that rt allows, where the handler changed what outer held, and the body up to
// the limit.
func (rt *route) newRecord(a answer, outer http.Header) record {
	if len(a.body) > rt.MaxAnswer {
		return unkept(a)
	}
	header := http.Header{}
	for name, values := range a.header {
		before, had := outer[name]
		if rt.replays(name) && !(had && slices.Equal(values, before)) {
			header[name] = values
		}
	}
	return record{answer: answer{a.status, header, a.body}, kept: true}
}

// unkept is the record of an answer whose body is too large to be kept, or went
// out as it was made.
func unkept(a answer) record {
	header := http.Header{}
	if where, ok := a.header["Location"]; ok {
		header["Location"] = where
	}
	return record{answer: answer{status: a.status, header: header}, size: max(len(a.body), 1)}
}

// replayed are the headers that mean the same to whoever sends the key again.
// Never among them: cookies, dates, framing, challenges, rate limits.
var replayed = names{
	"Accept-Ranges": true, "Cache-Control": true, "Content-Disposition": true,
	"Content-Encoding": true, "Content-Language": true, "Content-Location": true,
	"Content-Range": true, "Content-Security-Policy": true, "Content-Type": true,
	"Etag": true, "Expires": true, "Last-Modified": true, "Link": true, "Location": true,
	"Refresh": true, "Vary": true, "X-Content-Type-Options": true,
}

// neverReplayed cannot be allowed by a route either.
var neverReplayed = names{
	"Connection": true, "Content-Length": true, "Date": true, "Keep-Alive": true,
	"Set-Cookie": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Www-Authenticate": true,
}

// replays reports whether a header is kept for replays. Those of htmx say what
// the page does with the answer, as Location does.
func (rt *route) replays(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return replayed[name] || strings.HasPrefix(name, "Hx-") || slices.Contains(rt.Headers, name)
}

// MarshalJSON writes the record in its readable form.
func (rec record) MarshalJSON() ([]byte, error) {
	s := stored{Status: rec.status, NotKept: rec.size}
	for name, values := range rec.header {
		s.add(name, values)
	}
	if text, ok := asText(rec.body); ok {
		s.Body = text
	} else {
		s.Body64 = rec.body
	}
	return marshal(s)
}

func (s *stored) add(name string, values []string) {
	if !slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
		if s.Header == nil {
			s.Header = http.Header{}
		}
		s.Header[name] = values
		return
	}
	if s.Header64 == nil {
		s.Header64 = map[string][][]byte{}
	}
	for _, v := range values {
		s.Header64[name] = append(s.Header64[name], []byte(v))
	}
}

// asText reports whether a body is stored as text.
func asText(body []byte) (string, bool) {
	if !utf8.Valid(body) {
		return "", false
	}
	escaped, err := marshal(string(body))
	return string(body), err == nil && len(escaped)-2 <= base64.StdEncoding.EncodedLen(len(body))+escapeSlack
}

// escapeSlack lets short texts be text whatever is in them.
const escapeSlack = 256

// marshal leaves <, > and & as they are: a stored page should look like one.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// errForeign: a record that is not ours.
var errForeign = errors.New("nebishttp: not a stored answer")

// UnmarshalJSON reads a record. Any other JSON is an answer that was not kept: a
// table made by hand may hold whatever its first program stored.
func (rec *record) UnmarshalJSON(text []byte) error {
	*rec = record{}
	if s, err := readStored(text); err == nil {
		*rec = s.record()
	}
	return nil
}

func readStored(text []byte) (s stored, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&s); err != nil {
		return s, err
	}
	if _, err = dec.Token(); err != io.EOF || s.Status < 200 || s.Status > 999 {
		return s, errForeign
	}
	return s, nil
}

func (s stored) record() record {
	header := http.Header{}
	for name, values := range s.Header {
		header[name] = values
	}
	for name, values := range s.Header64 {
		for _, v := range values {
			header[name] = append(header[name], string(v))
		}
	}
	body := s.Body64
	if body == nil {
		body = []byte(s.Body)
	}
	return record{answer: answer{s.Status, header, body}, size: s.NotKept, kept: s.NotKept == 0}
}

package scan

import (
	"bytes"
	"encoding/json"
)

// jsonLines are logs with one JSON object on each line. They are read by hand:
// the standard decoder makes a tree of every line.
type jsonLines struct{}

// depth of objects within objects that is looked into.
const maxDepth = 8

func (jsonLines) cut(line []byte, e *entry) bool {
	s := &jsonScanner{rest: line, entry: e}
	s.space()
	if !s.object(nil, 0) {
		return false
	}
	s.space()
	return len(s.rest) == 0
}

type jsonScanner struct {
	rest  []byte
	entry *entry
	name  [128]byte
}

func (s *jsonScanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

func (s *jsonScanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object reads {…} and puts what it knows into the entry; prefix is the name of
// the object itself.
func (s *jsonScanner) object(prefix []byte, depth int) bool {
	if !s.take('{') || depth > maxDepth {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.text()
		if !ok || !s.take(':') || !s.value(s.join(prefix, key), depth) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// join makes the dotted name in lower case; one that is too long is unknown.
func (s *jsonScanner) join(prefix, key []byte) []byte {
	name := append(s.name[:0], prefix...)
	if len(prefix) > 0 {
		name = append(name, '.')
	}
	if len(name)+len(key) > len(s.name) {
		return nil
	}
	for _, c := range key {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		name = append(name, c)
	}
	return name
}

func (s *jsonScanner) value(name []byte, depth int) bool {
	s.space()
	if len(s.rest) == 0 {
		return false
	}
	switch s.rest[0] {
	case '"':
		text, ok := s.text()
		s.put(name, text)
		return ok
	case '{':
		return s.object(bytes.Clone(name), depth+1)
	case '[':
		return s.array(name, depth)
	}
	return s.scalar(name)
}

// array: a header has its values in one, and the first is as good as any.
func (s *jsonScanner) array(name []byte, depth int) bool {
	s.take('[')
	if s.take(']') {
		return true
	}
	if depth >= maxDepth {
		return false
	}
	for {
		if !s.value(name, depth+1) {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// scalar reads a number, true, false or null.
func (s *jsonScanner) scalar(name []byte) bool {
	end := bytes.IndexAny(s.rest, ",}] \t\r")
	if end < 0 {
		end = len(s.rest)
	}
	v := s.rest[:end]
	if !json.Valid(v) {
		return false
	}
	if string(v) != "null" {
		s.put(name, v)
	}
	s.rest = s.rest[end:]
	return true
}

// text reads a string; only one with escapes is copied.
func (s *jsonScanner) text() ([]byte, bool) {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	end := closing(s.rest[1:])
	if end < 0 {
		return nil, false
	}
	raw := s.rest[1 : end+1]
	whole := s.rest[:end+2]
	s.rest = s.rest[end+2:]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	var text string
	if json.Unmarshal(whole, &text) != nil {
		return nil, false
	}
	return []byte(text), true
}

func (s *jsonScanner) put(name, value []byte) {
	if f := jsonFields[string(name)]; f != skipped {
		s.entry.set(f, value)
	}
}

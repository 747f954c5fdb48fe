// Package pointer follows JSON pointers (RFC 6901).
package pointer

import "strings"

// To follows a pointer through what encoding/json has made of a document; "" is the
// whole of it.
func To(doc any, pointer string) (any, bool) {
	if pointer == "" {
		return doc, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = Unescape(part)
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, ok := index(part, len(v))
			if !ok {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// Unescape reads one part of a pointer.
func Unescape(part string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(part) }

// index reads an array's index as RFC 6901 writes it.
func index(s string, n int) (int, bool) {
	i := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || i > n {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, s != "" && i < n && (s == "0" || s[0] != '0')
}

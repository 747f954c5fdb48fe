package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The places where a key may be.
const (
	sourceForm   = "form"
	sourceHeader = "header"
	sourceJSON   = "json"
	sourceQuery  = "query"
)

// KeySource is a place where a request's key may be: form:NAME, header:NAME,
// query:NAME, json:/pointer (RFC 6901). Several of one place make one key
// together: form:trade_no+trade_status.
type KeySource struct {
	Place string
	Names []string
}

var errSource = errors.New("it is not like form:NAME, header:NAME, query:NAME, json:/pointer or form:trade_no+trade_status")

func parseSource(s string) (KeySource, error) {
	place, rest, _ := strings.Cut(s, ":")
	k := KeySource{Place: place}
	for n := range strings.SplitSeq(rest, "+") {
		if !k.takes(n) {
			return k, fmt.Errorf("%q: %w", s, errSource)
		}
		if place == sourceHeader {
			n = http.CanonicalHeaderKey(n)
		}
		k.Names = append(k.Names, n)
	}
	return k, nil
}

// takes reports whether name can name something at the place.
func (k KeySource) takes(name string) bool {
	switch k.Place {
	case sourceHeader:
		return isToken(name)
	case sourceJSON:
		return strings.HasPrefix(name, "/")
	case sourceForm, sourceQuery:
		return name != ""
	}
	return false
}

// String is the source as it stands in the configuration: "form:key".
func (k KeySource) String() string { return k.Place + ":" + strings.Join(k.Names, "+") }

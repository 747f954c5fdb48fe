package callback

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

var errFields = errors.New("callback: the fields cannot be read")

// fields reads a form or query in which no name may come twice: of two values one
// would be checked and another used.
func fields(query string) (url.Values, error) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return nil, errFields
	}
	for _, all := range v {
		if len(all) > 1 {
			return nil, fmt.Errorf("%w: one of them comes twice", errFields)
		}
	}
	return v, nil
}

// joined is the text that Alipay and its like sign: the fields in the order of their
// names, as they are, without those of the signature.
func joined(v url.Values, empty bool, without ...string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if value := v.Get(name); !slices.Contains(without, name) && (empty || value != "") {
			parts = append(parts, name+"="+value)
		}
	}
	return strings.Join(parts, "&")
}

// cents reads an amount with at most two decimals, such as 12, 12.3 or 12.34.
func cents(s string) (int64, error) {
	whole, part, dot := strings.Cut(s, ".")
	if dot && (part == "" || len(part) > 2) || !digits(whole) || dot && !digits(part) || len(whole) > 15 {
		return 0, fmt.Errorf("callback: amount %.30q: want at most two decimals", s)
	}
	return strconv.ParseInt(whole+(part + "00")[:2], 10, 64)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

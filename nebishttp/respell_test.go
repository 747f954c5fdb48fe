package nebishttp

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkRespelling compares our idea of "the same JSON" with that of
// encoding/json: indenting must not change the fingerprint, changing a number must.
func checkRespelling(t *testing.T, print fingerprinter, body []byte, want string) {
	t.Helper()
	if !json.Valid(body) || !utf8.Valid(body) {
		return
	}
	var indented bytes.Buffer
	if json.Indent(&indented, body, " ", "\t") == nil && printOf(t, print, "POST", "/", jsonType, indented.Bytes()) != want {
		t.Fatalf("%q: indenting changes the fingerprint", body)
	}
	if printOf(t, print, "POST", "/", jsonType, append([]byte("["), append(body, ']')...)) == want {
		t.Fatalf("%q: within an array it is the same", body)
	}
}

// FuzzDecimal compares the exact values of two numbers with math/big.
func FuzzDecimal(f *testing.F) {
	for _, c := range [][2]string{{"100", "1e2"}, {"-0", "0"}, {"1.10", "11e-1"}, {"12345678901234567890", "12345678901234567891"}, {"0.001e3", "1"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := exact(a)
		y, okY := exact(b)
		if !okX || !okY {
			return
		}
		if same := bytes.Equal(decimal(a), decimal(b)); same != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: same is %v", a, b, same)
		}
	})
}

// exact reads a JSON number whose power of ten is small enough for math/big.
func exact(s string) (*big.Rat, bool) {
	if !json.Valid([]byte(s)) || strings.ContainsAny(s, "\"[{tfn \t\r\n") {
		return nil, false
	}
	if _, power, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(power) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

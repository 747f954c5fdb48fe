package nebishttp

import (
	"strings"
	"testing"
)

func TestAStructuredFieldStringIsReadAsRFC9651Says(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`"k"`, "k"},
		{`  "k"  `, "k"},
		{`""`, ""},
		{`"a b"`, "a b"},
		{`"a\"b\\c"`, `a"b\c`},
		{`"k";v=1`, "k"},
		{`"k"; v`, "k"},
		{`"k";  a=1;b;*c=?0`, "k"},
		{`"k";n=-123456789012345`, "k"},
		{`"k";n=123456789012.123`, "k"},
		{`"k";s="x;y\""`, "k"},
		{`"k";t=a/b:c!`, "k"},
		{`"k";t=*x`, "k"},
		{`"k";b=:aGk=:;c=:aGk:`, "k"},
		{`"k";b=::`, "k"},
		{`"k";d=@1659578233`, "k"},
		{`"k";d=@-1`, "k"},
		{`"k";u=%"f%c3%bc%22"`, "k"},
		{`"k";a_b-c.d*9=1`, "k"},
	} {
		if got, ok := sfString(c.in); !ok || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.in, got, ok, c.want)
		}
	}
}

func TestAMalformedStructuredFieldStringIsRefused(t *testing.T) {
	for _, in := range []string{
		``, `k`, `"`, `"k`, `"k\"`, `"k\x"`, `"k"x`, `"k" ;v`, `"k", "l"`, `"k""l"`,
		"\"a\tb\"", "\"a\x7fb\"", "\"\u00e9\"", "\"a\nb\"", "\t\"k\"",
		`"k";`, `"k";V=1`, `"k";1=1`, `"k";v=`, `"k";v=;w`, `"k";v =1`, `"k";v= 1`,
		`"k";n=-`, `"k";n=--1`, `"k";n=1.`, `"k";n=.5`, `"k";n=1.2345`, `"k";n=1234567890123456`, `"k";n=1234567890123.1`,
		`"k";q=?2`, `"k";q=?`, `"k";d=@`, `"k";d=@1.5`, `"k";d=@x`,
		`"k";b=:a`, `"k";b=:a:`, `"k";b=:a-b_:`, "\"k\";b=:aG\nk=:",
		`"k";u=%k`, `"k";u=%"k`, `"k";u=%"%C3%BC"`, `"k";u=%"%c3"`, `"k";u=%"%c"`, `"k";u=%"%`, "\"k\";u=%\"\u00fc\"",
		`"k";l=(a b)`, `"k";x=,`,
	} {
		if got, ok := sfString(in); ok {
			t.Errorf("%s: read as %q", in, got)
		}
	}
}

// FuzzKey: whatever the header holds, the answer is no key, a key that the core
// takes, or an error; and a key survives being quoted.
func FuzzKey(f *testing.F) {
	for _, s := range []string{`k`, `"k"`, `"a\"b\\";v=1`, `"k`, ``, `""`, ` x `, `[object Object]`, `"k";b=:aGk=:`, "\xff", `"k";u=%"%c3%bc"`, strings.Repeat("k", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := headerKey([]string{line})
		if err == nil && key != "" {
			err = checkKey(key)
		}
		if err != nil || key == "" {
			return
		}
		if len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
			t.Fatalf("%q became the key %q", line, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := headerKey([]string{quoted + ";v=1"}); err != nil || again != key {
			t.Fatalf("%q, quoted as %s, became %q, %v", key, quoted, again, err)
		}
	})
}

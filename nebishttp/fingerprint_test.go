package nebishttp

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
)

// printOf is the fingerprint of a request as the middleware would take it.
func printOf(t *testing.T, f fingerprinter, method, target, contentType string, body []byte) string {
	t.Helper()
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	q, err := (&route{Route: Route{MaxRequest: 16 << 20}}).readRequest(httptest.NewRecorder(), r)
	if q == nil {
		t.Fatal(err)
	}
	return f.of(q)
}

const jsonType = "application/json"

func TestJSONThatMeansTheSameHasOneFingerprint(t *testing.T) {
	for _, c := range [][2]string{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{`{"a":1,"b":2}`, " {\n \"b\" : 2,\t\"a\":1 }\r\n"},
		{`{"a":{"x":1,"y":[{"p":1,"q":2}]}}`, `{"a":{"y":[{"q":2,"p":1}],"x":1}}`},
		{`[{"a":1,"b":2}]`, `[{"b":2,"a":1}]`},
		{`"A\/\u00e9\n"`, `"\u0041/é\u000a"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`100`, `1e2`}, {`100`, `100.0`}, {`1.0`, `1`}, {`-0`, `0`}, {`0e999999999999999999999`, `0.00`},
		{`1E+2`, `100`}, {`0.01`, `1e-2`}, {`12300`, `123e2`}, {`1e0000000000000000000002`, `100`},
		{`12345678901234567890`, `12345678901234567890.000`},
	} {
		a, b := printOf(t, newFingerprinter(false, nil), "POST", "/", jsonType, []byte(c[0])), printOf(t, newFingerprinter(false, nil), "POST", "/", jsonType, []byte(c[1]))
		if a != b {
			t.Errorf("%s and %s: two fingerprints", c[0], c[1])
		}
	}
}

func TestJSONThatMeansSomethingElseHasAnotherFingerprint(t *testing.T) {
	seen := map[string]string{}
	for _, body := range []string{
		`[1,2]`, `[2,1]`, `[[1],2]`, `[1,[2]]`, `[[1,2]]`, `[]`, `{}`, `[{}]`, `[[]]`, `""`, `null`, `true`, `false`, `"null"`, `"1"`,
		`1`, `-1`, `10`, `999`, `0`, `0.1`, `1e1000`, `1e1001`, `1e999999999`, `1e9999999999999999999`, `1e99999999999999999999`, `1e-9999999999999999999`,
		`10e9223372036854775807`, `1e-9223372036854775808`, `10e140737488355327`, `1e140737488355327`,
		`12345678901234567890`, `12345678901234567891`, `0.1000000000000000055`, `9007199254740993`, `9007199254740992`,
		`{"a":1}`, `{"a":"1"}`, `{"b":1}`, `{"a":[1]}`, `{"a":{"b":1}}`, `{"a":null}`,
		`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":2}`, `{"a":1,"a":1}`,
		`"\ud800"`, `"\ud801"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800a"`, `"\ufffd"`, `"\\ud800"`, `"\u0000"`, `" "`,
		`{"a":`, `{"a":1}}`, `01`, `{a:1}`, "\xff", "\"\xff\"", "\"\xed\xa0\x80\"", "", " ", "\ufeff1",
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), strings.Repeat("[", 10_000), strings.Repeat("[", 1<<20),
	} {
		p := printOf(t, newFingerprinter(false, nil), "POST", "/", jsonType, []byte(body))
		if other, ok := seen[p]; ok {
			t.Errorf("%.40q and %.40q: one fingerprint", body, other)
		}
		seen[p] = body
	}
}

func TestDeeplyNestedJSONIsCanonicalisedInItsLength(t *testing.T) {
	pad := strings.Repeat("x", 500_000)
	deep := func(inner string) string {
		return strings.Repeat(`{"a":`, 9_999) + inner + strings.Repeat("}", 9_999)
	}
	f := newFingerprinter(false, nil)
	a := printOf(t, f, "POST", "/", jsonType, []byte(deep(`{"p":"`+pad+`","q":1}`)))
	b := printOf(t, f, "POST", "/", jsonType, []byte(deep(`{"q":1,"p":"`+pad+`"}`)))
	if a != b {
		t.Error("the order of names counts at depth 10,000")
	}
}

func TestRawComparesByteByByte(t *testing.T) {
	f := newFingerprinter(true, nil)
	if printOf(t, f, "POST", "/", jsonType, []byte(`{"a":1,"b":2}`)) == printOf(t, f, "POST", "/", jsonType, []byte(`{"b":2,"a":1}`)) {
		t.Error("permuted JSON has the same raw fingerprint")
	}
	if printOf(t, f, "POST", "/?a=1&b=2", jsonType, nil) == printOf(t, f, "POST", "/?b=2&a=1", jsonType, nil) {
		t.Error("a permuted query has the same raw fingerprint")
	}
}

func TestWhatAFingerprintCovers(t *testing.T) {
	f := newFingerprinter(false, []string{"t"})
	base := printOf(t, f, "POST", "/orders/1?x=1", jsonType, []byte(`{"a":1}`))
	if !strings.HasPrefix(base, "h1:") || len(base) != 67 {
		t.Errorf("the fingerprint is %q", base)
	}
	for _, c := range []struct {
		what, method, target, media, body string
		same                              bool
	}{
		{"charset", "POST", "/orders/1?x=1", "application/json; charset=utf-8", `{"a":1}`, true},
		{"capital letters in the media type", "POST", "/orders/1?x=1", "Application/JSON", `{"a":1}`, true},
		{"an ignored query parameter", "POST", "/orders/1?t=2&x=1", jsonType, `{"a":1}`, true},
		{"an ignored member", "POST", "/orders/1?x=1", jsonType, `{"t":9,"a":1}`, true},
		{"a CSRF token among the members", "POST", "/orders/1?x=1", jsonType, `{"a":1,"csrf_token":"x"}`, true},
		{"the method", "PUT", "/orders/1?x=1", jsonType, `{"a":1}`, false},
		{"the path", "POST", "/orders/2?x=1", jsonType, `{"a":1}`, false},
		{"an escaped slash", "POST", "/orders%2F1?x=1", jsonType, `{"a":1}`, false},
		{"the query", "POST", "/orders/1?x=2", jsonType, `{"a":1}`, false},
		{"the media type", "POST", "/orders/1?x=1", "text/plain", `{"a":1}`, false},
		{"a parameter of the media type", "POST", "/orders/1?x=1", "application/json; profile=x", `{"a":1}`, false},
		{"no media type", "POST", "/orders/1?x=1", "", `{"a":1}`, false},
		{"+json", "POST", "/orders/1?x=1", "application/vnd.api+json", `{"a":1}`, false},
	} {
		if same := printOf(t, f, c.method, c.target, c.media, []byte(c.body)) == base; same != c.same {
			t.Errorf("%s: same is %v", c.what, same)
		}
	}
	if printOf(t, f, "POST", "/", jsonType, []byte(`{"a":{"t":1}}`)) == printOf(t, f, "POST", "/", jsonType, []byte(`{"a":{"t":2}}`)) {
		t.Error("a name is ignored further down, too")
	}
	if printOf(t, f, "POST", "/", "application/vnd.api+json", []byte(`{"a":1,"b":2}`)) != printOf(t, f, "POST", "/", "application/vnd.api+json", []byte(`{"b":2,"a":1}`)) {
		t.Error("+json is not compared as JSON")
	}
}

func TestFormsAreComparedByTheirFields(t *testing.T) {
	f := newFingerprinter(false, []string{"stamp"})
	base := printOf(t, f, "POST", "/", urlencoded, []byte("item=tea&qty=1&qty=2"))
	for body, same := range map[string]bool{
		"qty=1&item=tea&qty=2":                  true,
		"item=te%61&qty=1&qty=2":                true,
		"item=tea&qty=1&qty=2&csrf_token=a":     true,
		"item=tea&qty=1&qty=2&stamp=9":          true,
		"item=tea&qty=1&qty=2&idempotency_key=": true,
		"item=tea&qty=2&qty=1":                  false,
		"item=tea&qty=1":                        false,
		"item=tea&qty=1&qty=2&qty=2":            false,
		"item=tea&qty=12":                       false,
		"item=teaqty&qty=1&qty=2":               false,
		"item=tea&qty=1&qty=2&note=%zz":         false,
	} {
		if got := printOf(t, f, "POST", "/", urlencoded, []byte(body)) == base; got != same {
			t.Errorf("%s: same is %v", body, got)
		}
	}
	if printOf(t, f, "POST", "/", urlencoded, []byte("a=b&a=c")) == printOf(t, f, "POST", "/", urlencoded, []byte("a=bc&a=")) {
		t.Error("it does not count where a value ends")
	}
	for _, name := range []string{"csrf_token", "_token", "authenticity_token", "gorilla.csrf.Token", "csrfmiddlewaretoken", "__RequestVerificationToken", "_wpnonce"} {
		if printOf(t, f, "POST", "/", urlencoded, []byte("item=tea&qty=1&qty=2&"+name+"=x")) != base {
			t.Errorf("%s counts", name)
		}
	}
}

func multipartBody(t *testing.T, boundary, token, filename, content string) (string, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.SetBoundary(boundary))
	must(w.WriteField("_token", token))
	must(w.WriteField("item", "tea"))
	part, err := w.CreateFormFile("photo", filename)
	must(err)
	_, err = part.Write([]byte(content))
	must(err)
	must(w.Close())
	return w.FormDataContentType(), b.Bytes()
}

func TestMultipartFormsAreComparedByFieldsAndFiles(t *testing.T) {
	f := newFingerprinter(false, nil)
	of := func(boundary, token, filename, content string) string {
		media, body := multipartBody(t, boundary, token, filename, content)
		return printOf(t, f, "POST", "/", media, body)
	}
	base := of("AAA", "1", "a.png", "\x00\xffpng")
	if of("BBBBBB", "2", "a.png", "\x00\xffpng") != base {
		t.Error("the boundary or the CSRF token counts")
	}
	if of("AAA", "1", "a.png", "\x00\xfepng") == base {
		t.Error("the file's content does not count")
	}
	if of("AAA", "1", "b.png", "\x00\xffpng") == base {
		t.Error("the file's name does not count")
	}
}

func TestAFormThatAMiddlewareHasReadHasTheSameFingerprint(t *testing.T) {
	f := newFingerprinter(false, nil)
	media, body := multipartBody(t, "AAA", "1", "a.png", "content")
	for contentType, body := range map[string][]byte{media: body, urlencoded: []byte("item=tea&idempotency_key=k")} {
		r := post(contentType, string(body))
		_ = r.ParseMultipartForm(1) // as a CSRF middleware does; the file goes to disk
		q, err := (&route{Route: Route{MaxRequest: 1 << 20}}).readRequest(httptest.NewRecorder(), r)
		if err != nil {
			t.Fatal(err)
		}
		if f.of(q) != printOf(t, f, "POST", "/orders", contentType, body) {
			t.Errorf("%s: another fingerprint", contentType)
		}
		if contentType == urlencoded && q.key != "k" {
			t.Errorf("the key is %q", q.key)
		}
	}
}

// FuzzFingerprint: a body has one fingerprint, whatever it is; and JSON that says
// the same after a change of blanks keeps it.
func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":[1e2,"\ud800\u0041"]}`, `"\ud83d\ude00"`, `1e999999999`, `-0.00`, `[[[]]]`, "\xff", `{"a":{"b":null}}`, ``, `a=1&b=%zz`, `"\`} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	print := newFingerprinter(false, nil)
	f.Fuzz(func(t *testing.T, body []byte, form bool) {
		media := jsonType
		if form {
			media = urlencoded
		}
		a := printOf(t, print, "POST", "/", media, body)
		if b := printOf(t, print, "POST", "/", media, body); a != b {
			t.Fatalf("%q: two fingerprints", body)
		}
		if media == jsonType {
			checkRespelling(t, print, body, a)
		}
	})
}

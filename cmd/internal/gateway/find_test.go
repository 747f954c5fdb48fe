package gateway

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

const (
	urlencoded = "application/x-www-form-urlencoded"
	formData   = "multipart/form-data; boundary=B"
)

func part(name, value string) string {
	return "--B\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

func TestWhereTheKeyIsFound(t *testing.T) {
	for _, c := range []struct{ sources, target, header, media, body, want string }{
		{"[form:idempotency_key, header:Idempotency-Key]", "/", "Idempotency-Key: h", urlencoded, "a=1&idempotency_key=f", "f"},
		{"[form:idempotency_key, header:Idempotency-Key]", "/", "Idempotency-Key: h", urlencoded, "a=1&idempotency_key=", "h"},
		{"[form:idempotency_key, header:Idempotency-Key]", "/", "Idempotency-Key: h", "application/json", "idempotency_key=f", "h"},
		{"header:Idempotency-Key", "/", `Idempotency-Key: "h\"";v=1`, "", "", `h"`},
		{"header:webhook-id", "/", "Webhook-Id: w", "", "", "w"},
		{"header:webhook-id", "/", "Webhook-Id: ", "", "", ""},
		{"form:k", "/", "", formData, part("a", "1") + part("k", "m") + "--B--", "m"},
		{"query:k", "/?a=1&k=q", "", "", "", "q"},
		{"query:k", "/?k=q&k=q&k=", "", "", "", "q"},
		{"json:/order/key", "/", "", "", `{"x":[1,{"key":"no"}],"order":{"key":"j"}}`, "j"},
		{"json:/order/key", "/", "", "", "\ufeff" + `{"order":{"key":12345678901234567890}}`, "12345678901234567890"},
		{"json:/a~1b/1", "/", "", "", `{"a/b":["x","y"]}`, "y"},
		{"json:/a/2", "/", "", "", `{"a":["x","y"]}`, ""},
		{"json:/a/b", "/", "", "", `{"a":"b"}`, ""},
		{"json:/a", "/", "", "", `{"a":{"b":1}}`, ""},
		{"json:/a", "/", "", "", `["a"]`, ""},
		{"json:/a", "/", "", "", `{"a":null}`, ""},
		{"json:/a", "/", "", "", `{"a`, ""},
		{"form:a+b", "/", "", urlencoded, "a=1&b=", ""},
	} {
		route := read(t, "routes:\n- match: POST /*\n  key: "+c.sources).Routes[0]
		r := httptest.NewRequest("POST", c.target, nil)
		r.Header.Set("Content-Type", c.media)
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		if got, err := route.FindKey(r, []byte(c.body), true); got != c.want || err != nil {
			t.Errorf("%s in %+v: %q, %v", c.sources, c, got, err)
		}
	}
}

func TestSeveralPartsOfAKeyStayApart(t *testing.T) {
	route := read(t, "routes:\n- match: POST /*\n  key: form:a+b").Routes[0]
	seen := map[string]bool{}
	for _, body := range []string{"a=1&b=23", "a=12&b=3", "a=1%3A2&b=3", "a=1&b=2%3A3", "a=" + strings.Repeat("x", 300) + "&b=1"} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", urlencoded)
		key, err := route.FindKey(r, []byte(body), true)
		if err != nil || key == "" || len(key) > 255 || seen[key] {
			t.Errorf("%s: %q, %v", body, key, err)
		}
		seen[key] = true
	}
}

func TestAKeyThatIsThereTwiceIsAMistake(t *testing.T) {
	route := read(t, "routes:\n- match: POST /*\n  key: [form:k, query:k, header:Idempotency-Key]").Routes[0]
	r := httptest.NewRequest("POST", "/?k=1&k=2", nil)
	if key, err := route.FindKey(r, nil, true); err == nil {
		t.Errorf("in the query: %q", key)
	}
	r.Header.Set("Content-Type", urlencoded)
	if key, err := route.FindKey(r, []byte("k=1&k=2"), true); err == nil {
		t.Errorf("in the form: %q", key)
	}
	r = httptest.NewRequest("POST", "/", nil)
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	if key, err := route.FindKey(r, nil, true); !errors.Is(err, nebis.ErrKey) {
		t.Errorf("in the header: %q, %v", key, err)
	}
}

func TestAKeyThatIsCutIsNone(t *testing.T) {
	for _, c := range []struct{ source, media, body, want string }{
		{"form:k", urlencoded, "a=1&k=abc", ""},
		{"form:k", urlencoded, "k=abc&a=1", "abc"},
		{"form:k", urlencoded, "k=abc", ""},
		{"form:k", formData, part("k", "abc") + part("file", "xxx"), "abc"},
		{"form:k", formData, "--B\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\nab", ""},
		{"json:/k", "", `{"k":"abc","file":"xxxx`, "abc"},
		{"json:/k", "", `{"file":"xxx","k":"ab`, ""},
		{"json:/k", "", `{"k":12`, ""},
	} {
		route := read(t, "routes:\n- match: POST /*\n  key: "+c.source).Routes[0]
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", c.media)
		if got, err := route.FindKey(r, []byte(c.body), false); got != c.want || err != nil {
			t.Errorf("%s in %q: %q, %v", c.source, c.body, got, err)
		}
	}
}

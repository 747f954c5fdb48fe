package nebishttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

func post(contentType, body string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestKeyOf(t *testing.T) {
	ff := "application/x-www-form-urlencoded"
	mp := "multipart/form-data; boundary=B"
	part := "--B\r\nContent-Disposition: form-data; name=\"idempotency_key\"\r\n\r\nfield\r\n--B--\r\n"
	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"none":                                  {post("", ""), ""},
		"bare header, trimmed":                  {post("", "", keyHeader, "  k1\t"), "k1"},
		"quoted header":                         {post("", "", keyHeader, `"k1";v=1`), "k1"},
		"a bare key keeps what is in it":        {post("", "", keyHeader, `k;v="1"`), `k;v="1"`},
		"empty header":                          {post("", "", keyHeader, ""), ""},
		"empty quotes":                          {post("", "", keyHeader, `""`), ""},
		"blanks only":                           {post("", "", keyHeader, `"  "`), ""},
		"field":                                 {post(ff, "idempotency_key=field"), "field"},
		"the field wins over the header":        {post(ff, "idempotency_key=field", keyHeader, "header"), "field"},
		"also in a multipart form":              {post(mp, part, keyHeader, "header"), "field"},
		"an empty field leaves the header":      {post(ff, "idempotency_key=+", keyHeader, "header"), "header"},
		"the same field twice":                  {post(ff, "idempotency_key=field&idempotency_key=field"), "field"},
		"a field beside one that is malformed":  {post(ff, "a=100%&idempotency_key=field"), "field"},
		"a query parameter is no form field":    {httptest.NewRequest("POST", "/?idempotency_key=query", nil), ""},
		"a JSON member is no form field":        {post("application/json", `{"idempotency_key":"json"}`), ""},
		"a field is taken as it is, not quoted": {post(ff, "idempotency_key="+url.QueryEscape(`"k"`)), `"k"`},
		"WithKey wins over both":                {WithKey(post(ff, "idempotency_key=field", keyHeader, "header"), "own"), "own"},
	} {
		if got, err := KeyOf(c.r); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAMalformedKeyIsRefusedWithWordsThatNameTheMistake(t *testing.T) {
	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"two lines":              {post("", "", keyHeader, "a", keyHeader, "a"), "more than one"},
		"two different fields":   {post(urlencoded, "idempotency_key=a&idempotency_key=b"), "two different"},
		"open quote":             {post("", "", keyHeader, `"k`), "RFC 9651"},
		"list of strings":        {post("", "", keyHeader, `"a", "b"`), "RFC 9651"},
		"an object":              {post("", "", keyHeader, "[object Object]"), "object was turned into text"},
		"undefined":              {post("", "", keyHeader, "undefined"), "without a value"},
		"null, quoted":           {post("", "", keyHeader, `"null"`), "absent value"},
		"NaN, in a field":        {post(urlencoded, "idempotency_key=NaN"), "failed calculation"},
		"256 bytes":              {post("", "", keyHeader, strings.Repeat("k", 256)), "256 bytes"},
		"10 kB":                  {post("", "", keyHeader, strings.Repeat("k", 10_000)), "10000 bytes"},
		"a blank":                {post("", "", keyHeader, "a b"), "byte 2"},
		"a control character":    {post(urlencoded, "idempotency_key=ab%00"), "byte 3"},
		"not ASCII":              {post(urlencoded, "idempotency_key=%E8%AE%A2"), "byte 1"},
		"not even UTF-8":         {post("", "", keyHeader, "k\xff"), "byte 2"},
		"WithKey is checked too": {WithKey(post("", ""), "a b"), "byte 2"},
	} {
		if _, err := KeyOf(c.r); !errors.Is(err, nebis.ErrKey) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v; want an ErrKey with %q", name, err, c.want)
		}
	}
	if _, err := KeyOf(post("", "", keyHeader, strings.Repeat("k", 255))); err != nil {
		t.Errorf("255 bytes: %v", err)
	}
}

func TestNewKeyIsAUUIDInTheOrderOfTime(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	var prefixes []string
	seen := map[string]bool{}
	for range 1000 {
		key := NewKey()
		if !uuid.MatchString(key) || seen[key] {
			t.Fatalf("%q is no new UUID of version 7", key)
		}
		seen[key] = true
		prefixes = append(prefixes, key[:13])
	}
	if !slices.IsSorted(prefixes) {
		t.Error("the times do not go up")
	}
}

func TestFieldGivesEachFormAKeyOfItsOwnAndKeepsThePageOutOfCaches(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	a, b := string(Field(w, r)), string(Field(w, r))
	want := regexp.MustCompile(`^<input type="hidden" name="idempotency_key" value="[0-9a-f-]{36}" autocomplete="off" data-nebis-renew>$`)
	if !want.MatchString(a) || a == b {
		t.Errorf("got %s and %s", a, b)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
}

func TestFieldKeyMakesAnyTextAKey(t *testing.T) {
	value := regexp.MustCompile(`value="([^"]*)"`)
	for key, want := range map[string]string{
		"basket-17-v3":           "basket-17-v3",
		`a"<b`:                   "a&#34;&lt;b",
		"basket 17":              "", // its SHA-256
		"undefined":              "",
		strings.Repeat("k", 256): "",
	} {
		got := value.FindStringSubmatch(string(FieldKey(httptest.NewRecorder(), nil, key)))[1]
		if checkKey(key) != nil {
			sum := sha256.Sum256([]byte(key))
			want = hex.EncodeToString(sum[:])
		}
		if got != want {
			t.Errorf("%q became %s; want %s", key, got, want)
		}
	}
}

func TestWithKeyLeavesTheContextAlone(t *testing.T) {
	type k struct{}
	r := post("", "").WithContext(context.WithValue(context.Background(), k{}, 1))
	if WithKey(r, "x").Context().Value(k{}) != 1 || r.Context().Value(ctxKey) != nil {
		t.Error("WithKey lost a value or changed the request that it got")
	}
}

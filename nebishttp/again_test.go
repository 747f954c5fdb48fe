package nebishttp

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestBusinessKeysKeepTheirPartsApart(t *testing.T) {
	if got := BusinessKey("basket", 17, 3); got != "basket:17:3" {
		t.Error(got)
	}
	if a, b := BusinessKey("a:b", "c"), BusinessKey("a", "b:c"); a == b {
		t.Errorf("both %q", a)
	}
	for _, key := range []string{BusinessKey(), BusinessKey(strings.Repeat("x", 300)), BusinessKey("篮子", " ", "\n"), BusinessKey("null")} {
		if err := checkKey(key); key == "" || err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// refused is a person's form, refused with p.
func refused(p Problem, fields url.Values) Problem {
	r := httptest.NewRequest("POST", "/orders?lang=en", nil)
	r.Header.Set("Content-Type", urlencoded)
	r.Header.Set("Accept", "text/html")
	return p.asNew(&request{r: r, form: form{values: fields}, whole: true})
}

func TestARefusedFormCanBeSentAsANewOne(t *testing.T) {
	fields := url.Values{"item": {`"><script>`, "b"}, keyField: {"old"}, "csrf": {"t"}}
	for _, p := range []Problem{mismatch, keyMissing, keyMalformed} {
		w := httptest.NewRecorder()
		got := string(refused(p, fields).Again(w, nil, "Again <b>"))
		for _, want := range []string{
			`<form method="post" enctype="application/x-www-form-urlencoded">`, `<button>Again &lt;b&gt;</button>`,
			`<input type="hidden" name="csrf" value="t">`,
			`<input type="hidden" name="item" value="&#34;&gt;&lt;script&gt;"><input type="hidden" name="item" value="b">`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", p.name, want, got)
			}
		}
		if strings.Count(got, keyField) != 1 || strings.Contains(got, "old") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %v", p.name, got, w.Header())
		}
	}
}

func TestWhatMayHaveHappenedIsNotOfferedAgain(t *testing.T) {
	for _, p := range []Problem{inProgress, notKept, unknown, unavailable, internal, bodyUnreadable} {
		if got := refused(p, url.Values{"a": {"b"}}).Again(httptest.NewRecorder(), nil, "x"); got != "" {
			t.Errorf("%s: %s", p.name, got)
		}
	}
}

func TestALargeFormIsNotPutIntoThePage(t *testing.T) {
	if got := refused(mismatch, url.Values{"a": {strings.Repeat("x", againBytes)}}).Again(httptest.NewRecorder(), nil, "x"); got != "" {
		t.Error("too large")
	}
	if got := refused(mismatch, url.Values{"a": make([]string, againFields+1)}).Again(httptest.NewRecorder(), nil, "x"); got != "" {
		t.Error("too many")
	}
}

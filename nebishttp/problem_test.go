package nebishttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

func TestEachErrorHasItsAnswer(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.1: secret")
	for _, c := range []struct {
		err     error
		status  int
		name    string
		outcome string
		retry   bool
	}{
		{nebis.ErrInProgress, 409, "in-progress", "in-progress", true},
		{nebis.ErrMismatch, 422, "mismatch", "mismatch", false},
		{nebis.ErrKey, 400, "key-malformed", "invalid", false},
		{keyError("x"), 400, "key-malformed", "invalid", false},
		{errKeyMissing, 400, "key-missing", "invalid", false},
		{errForm, 400, "body-unreadable", "invalid", false},
		{&http.MaxBytesError{Limit: 1}, 413, "body-too-large", "invalid", false},
		{nebis.ErrNotKept, 410, "not-kept", "not-kept", false},
		{nebis.ErrTxGone, 409, "unknown", "unknown", false},
		{fmt.Errorf("%w: %w", nebis.ErrUnknown, nebis.ErrTxGone), 409, "unknown", "unknown", false},
		{nebis.ErrLost, 409, "unknown", "unknown", false},
		{nebis.ErrUnknown, 503, "unavailable", "unavailable", true},
		{nebis.ErrNotCommitted, 503, "unavailable", "unavailable", true},
		{nebis.ErrBusy, 503, "unavailable", "unavailable", true},
	} {
		w := httptest.NewRecorder()
		WriteError(w, post("", ""), fmt.Errorf("%w: %w", c.err, secret))
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.status || got["status"] != float64(c.status) || got["type"] != "urn:nebis:problem:"+c.name ||
			w.Header().Get("Idempotency-Status") != c.outcome || (w.Header().Get("Retry-After") != "") != c.retry ||
			w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: got %d %v %s", c.err, w.Code, w.Header(), w.Body)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: internal text was sent: %s", c.err, w.Body)
		}
	}
}

func TestAnyOtherErrorIsAPlain500WithoutItsText(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, post("", ""), errors.New("secret"))
	if w.Code != 500 || w.Body.String() != `{"type":"about:blank","title":"Internal Server Error","status":500}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestPeopleGetAPageInTheirLanguage(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                  "en",
		"zh-CN,zh;q=0.9,en;q=0.8":           "zh",
		"en-GB,en;q=0.9,zh;q=0.8":           "en",
		"de, fr;q=0.9":                      "en",
		"de, ZH-hant;q=0.5":                 "zh",
		"zh;q=0, en;q=0.1":                  "en",
		"zh;q=x;,;;=,\xff":                  "zh",
		"*":                                 "en",
		"zh, en":                            "zh",
		"en, zh":                            "en",
		"zh;q=0":                            "en",
		strings.Repeat("zh;q=0.1,", 10_000): "zh",
	} {
		w := httptest.NewRecorder()
		WriteError(w, post(urlencoded, "", "Accept", "text/html,*/*;q=0.8", "Accept-Language", accept), nebis.ErrInProgress)
		if got := w.Header().Get("Content-Language"); got != want || !strings.Contains(w.Body.String(), pages[want]["in-progress"].Text) {
			t.Errorf("%.40q: got %s: %s", accept, got, w.Body)
		}
		if w.Code != 409 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("got %d %v", w.Code, w.Header())
		}
	}
}

func TestWhoIsAPerson(t *testing.T) {
	for _, c := range []struct {
		contentType, accept string
		want                bool
	}{
		{"application/x-www-form-urlencoded", "text/html,application/xhtml+xml,*/*;q=0.8", true},
		{"Multipart/Form-Data; boundary=x", "application/json, TEXT/HTML;q=0.1", true},
		{"application/x-www-form-urlencoded; charset=UTF-8", "*/*", false},
		{"application/x-www-form-urlencoded", "", false},
		{"application/x-www-form-urlencoded", "text/html;q=0", false},
		{"application/json", "text/html", false},
		{"", "text/html", false},
	} {
		if got := isPerson(post(c.contentType, "", "Accept", c.accept)); got != c.want {
			t.Errorf("%s, %s: %v", c.contentType, c.accept, got)
		}
	}
}

var all = []Problem{inProgress, mismatch, keyMissing, keyMalformed, bodyUnreadable, bodyTooLarge, notKept, unknown, unavailable, noDatabase, unauthenticated, internal}

func TestEveryProblemIsInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		status, retry := "–", ""
		if p.Outcome != "" {
			status = "`" + p.Outcome + "`"
		}
		if p.RetryAfter > 0 {
			retry = "yes"
		}
		line := strings.Join(strings.Fields(fmt.Sprintf("| `%s` | %d | %s | %s |", p.name, p.Status, status, retry)), " ")
		if p.name != internal.name && !strings.Contains(string(page), line) {
			t.Errorf("docs/outcomes.md has no line %s", line)
		}
	}
}

func TestEveryProblemHasItsPageInEveryLanguage(t *testing.T) {
	for lang := range pages {
		for _, p := range all {
			if pages[lang][p.name].Text == "" {
				t.Errorf("%s: no page for %s", lang, p.name)
			}
		}
		if len(pages[lang]) != len(all) {
			t.Errorf("%s has %d pages for %d problems", lang, len(pages[lang]), len(all))
		}
	}
}

func TestTheDetailOfAKeyErrorIsTheOnlyTextThatIsSent(t *testing.T) {
	w := httptest.NewRecorder()
	_, err := KeyOf(post("", "", keyHeader, "undefined"))
	WriteError(w, post("", ""), err)
	if !strings.Contains(w.Body.String(), "a variable without a value was turned into text") {
		t.Errorf("got %s", w.Body)
	}
}

func TestAPageLinksToTheResultButNeverToAScript(t *testing.T) {
	for location, link := range map[string]string{"/orders/1": `<a href="/orders/1">`, "javascript:alert(1)": "#ZgotmplZ", "": ""} {
		w := httptest.NewRecorder()
		p := notKept
		p.Location = location
		writeProblem(w, post(urlencoded, "", "Accept", "text/html"), p)
		body, _ := io.ReadAll(w.Body)
		if !strings.Contains(string(body), link) || strings.Contains(string(body), "<a ") == (location == "") {
			t.Errorf("%q: %s", location, body)
		}
	}
}

func TestOurAnswersDoNotKeepTheHandlersFraming(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "3")
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("X-Request-Id", "1")
	WriteError(w, post("", ""), nebis.ErrBusy)
	if h := w.Header(); h.Get("Content-Length") != "" || h.Get("Content-Encoding") != "" || h.Get("X-Request-Id") != "1" || !slices.Contains(h["Cache-Control"], "no-store") {
		t.Errorf("sent %v", h)
	}
}

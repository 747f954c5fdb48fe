package gateway

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

func textOf(t *testing.T, o *Observer) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, o.Page(report.English), false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const browser = "User-Agent: Mozilla/5.0"

func TestObservingTellsWhatCameTwice(t *testing.T) {
	o := NewObserver()
	r := front(t, http.HandlerFunc(echo), "", Options{Observe: o})
	for range 2 {
		r.send("POST", "/checkout", "item=tea", browser)
		r.send("POST", "/flow.php?step=done&id=17", "x=1", browser)
		r.send("PUT", "/orders/1234/note", "", browser)
	}
	r.send("POST", "/checkout", "item=coffee", browser)
	r.send("POST", "/checkout", "item=tea", "User-Agent: Mozilla/5.0 other")
	r.send("POST", "/cart", "item=tea", browser)
	r.get("/checkout")
	r.get("/checkout")
	text := textOf(t, o)
	for _, want := range []string{
		"Of 9 writes, 3 had come just before", "--protect 'POST /checkout'\n", "--protect 'POST /flow.php?step=done'\n",
		"--protect 'PUT /orders/{id}/note'\n", "double click",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "/cart") || strings.Contains(text, "tea") {
		t.Errorf("it tells too much:\n%s", text)
	}
}

func TestTheLineThatIsPrintedWouldMatch(t *testing.T) {
	o := NewObserver()
	r := front(t, http.HandlerFunc(echo), "", Options{Observe: o})
	for _, target := range []string{"/a/1/b/2", "/x.php?act=pay", "/p%20q/17", "/~u/%E8%B4%AD", "/it's", "/x**y"} {
		r.send("POST", target, "x")
		r.send("POST", target, "x")
	}
	lines := 0
	for line := range strings.SplitSeq(textOf(t, o), "\n") {
		_, pattern, ok := strings.Cut(strings.TrimSpace(line), "--protect ")
		if !ok {
			continue
		}
		lines++
		pattern = strings.ReplaceAll(strings.Trim(pattern, "'"), `'\''`, "'")
		if _, err := ParsePattern(pattern); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if lines != 6 {
		t.Errorf("%d lines in\n%s", lines, textOf(t, o))
	}
}

func TestWhyAWriteCameTwice(t *testing.T) {
	for _, c := range []struct {
		first sent
		gap   time.Duration
		want  scan.Cause
	}{
		{sent{status: 200}, time.Second, scan.DoubleClick},
		{sent{gone: true, status: 499}, time.Second, scan.DoubleClick},
		{sent{}, time.Second, scan.DoubleClick},
		{sent{status: 200}, time.Minute, scan.ByHand},
		{sent{status: 502}, time.Minute, scan.Retry},
		{sent{status: 200, took: 20 * time.Second}, 21 * time.Second, scan.Retry},
		{sent{status: 499, gone: true}, 20 * time.Second, scan.Retry},
		{sent{}, 20 * time.Second, scan.Retry},
		{sent{}, 5 * time.Second, scan.ByHand}, // it runs, and has not failed
		{sent{program: true}, 5 * time.Second, scan.Resent},
		{sent{status: 200, program: true}, 100 * time.Millisecond, scan.Resent},
		{sent{status: 200, program: true}, 15 * time.Second, scan.Callback},
		{sent{status: 200, program: true}, 5 * time.Second, scan.Resent},
	} {
		if got := causeOf(&c.first, c.gap); got != c.want {
			t.Errorf("%+v after %s: %s, wanted %s", c.first, c.gap, got, c.want)
		}
	}
}

// What is proposed names the pages of the forms, because a write without a key is
// held back by nothing, and says where that is not known.
func TestAProposalSaysWhereTheKeyComesFrom(t *testing.T) {
	o := NewObserver()
	r := front(t, http.HandlerFunc(echo), "", Options{Observe: o})
	const form = "Content-Type: application/x-www-form-urlencoded"
	for range 2 {
		r.send("POST", "/a", "x=1", browser, form, "Referer: "+r.url+"/cart.php?step=pay&id=7")
		r.send("POST", "/b", "x=1", browser, form)
		r.send("POST", "/c", `{"x":1}`, browser, "Content-Type: application/json")
		r.send("POST", "/d", "x=1&idempotency_key=k", browser, form, "Referer: "+r.url+"/d")
		r.send("POST", "/e", `{"x":1}`, browser, "Idempotency-Key: k")
		r.send("POST", "/f", "x=1", browser, form, "Referer: https://other.example/f")
	}
	text := textOf(t, o)
	for _, want := range []string{
		"--protect 'POST /a' --forms 'GET /cart.php?step=pay'\n", "the browser did not say its page: add --forms",
		"1 came without a key, and not from a form", "--protect 'POST /d'\n", "--protect 'POST /e'\n", "--protect 'POST /f'\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "# "); n != 3 {
		t.Errorf("%d remarks in\n%s", n, text)
	}
}

// The name of the key's field may come in pieces.
func TestAKeyIsSeenInABodyThatComesInPieces(t *testing.T) {
	for size := 1; size < 40; size++ {
		for _, c := range []struct {
			body string
			want bool
		}{{"item=tea&idempotency_key=k&qty=1", true}, {"idempotency_key=k", true}, {"item=idempotency_ke&y=1", false}} {
			var got bool
			h := &hashed{ReadCloser: io.NopCloser(strings.NewReader(c.body)), sum: sha256.New(), end: func(_ []byte, key bool) { got = key }}
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, h, make([]byte, size)); err != nil || got != c.want {
				t.Errorf("%s in pieces of %d: %t, %v", c.body, size, got, err)
			}
		}
	}
}

func TestObservingRemembersOnlySoMuch(t *testing.T) {
	o := NewObserver()
	now := o.began
	o.now = func() time.Time { return now }
	o.add("POST /a", 1, &sent{at: now})
	now = now.Add(observeWindow)
	o.add("POST /a", 1, &sent{at: now})
	if got := o.routes["POST /a"].repeated; got != 1 {
		t.Errorf("at the end of the window: %d", got)
	}
	now = now.Add(observeWindow + time.Second)
	o.add("POST /a", 1, &sent{at: now})
	if got := o.routes["POST /a"].repeated; got != 1 {
		t.Errorf("after it: %d", got)
	}
	for i := range 3 * observeMost {
		o.add("POST /"+strconv.Itoa(i%(2*observeRoutes)), uint64(i+2), &sent{at: now})
	}
	if len(o.young)+len(o.old) > 2*observeMost || len(o.routes) > observeRoutes+1 || !o.crowded {
		t.Errorf("it has %d and %d writes and %d routes; crowded %t", len(o.young), len(o.old), len(o.routes), o.crowded)
	}
}

func TestObservingTouchesNothing(t *testing.T) {
	o := NewObserver()
	s := &shop{body: string(zip(checkout + "<form method=post action=//bank.example/></form>")), header: map[string]string{"Content-Encoding": "gzip", "ETag": `"a"`}}
	r := front(t, s, formsOnCheckout+"routes:\n- match: POST /checkout\n", Options{Observe: o, Secret: []byte("0123456789abcdef")})
	res := r.get("/checkout", `If-None-Match: "b"`, "Accept: text/html", "Accept-Encoding: br, gzip")
	if res.body != s.body || res.Header.Get("Etag") != `"a"` || len(res.Cookies()) > 0 || s.got.Get("If-None-Match") == "" || s.got.Get("Accept-Encoding") != "br, gzip" {
		t.Errorf("%v; the site got %v", res.Header, s.got)
	}
	r.send("POST", "/checkout", "a=1", "Idempotency-Key: k")
	if s.got.Get("Idempotency-Key") != "k" || s.got.Get("X-Nebis-Key") != "" {
		t.Errorf("of a write the site got %v", s.got)
	}
	text := textOf(t, o)
	for _, want := range []string{"/checkout", formKeyed, formElse} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestAWriteWhoseBodyNobodyReadsIsSeen(t *testing.T) {
	o := NewObserver()
	h := o.wrap(&Gateway{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 2 {
		req, _ := http.NewRequest("POST", "/x", io.NopCloser(strings.NewReader("body")))
		h.ServeHTTP(nil, req)
	}
	if got := o.routes["POST /x"]; got == nil || got.repeated != 1 {
		t.Errorf("got %+v", got)
	}
}

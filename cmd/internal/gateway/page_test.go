package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const checkout = "<!doctype html>\r\n<title>买</title><form method=post action=/pay><button>Pay</button></form>\n"

func zip(s string) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = io.WriteString(zw, s)
	_ = zw.Close()
	return b.Bytes()
}

func unzip(t *testing.T, s string) string {
	t.Helper()
	zr, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatalf("%v: %q", err, s)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shop serves one page, whatever is asked.
type shop struct {
	status int
	header map[string]string
	body   string
	got    http.Header
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.got = r.Header.Clone()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	for name, value := range s.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(s.body)))
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	_, _ = io.WriteString(w, s.body)
}

const formsOnCheckout = "forms: ['GET /checkout*']\n"

var caching = map[string]string{
	"Cache-Control": "public, max-age=600", "ETag": `"a"`, "Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT",
	"Expires": "Mon, 02 Jan 2034 15:04:05 GMT", "X-Accel-Expires": "600", "Accept-Ranges": "bytes", "Content-MD5": "x",
}

func TestAPageWithAKeyIsKeptByNobody(t *testing.T) {
	r := front(t, &shop{body: checkout, header: caching}, formsOnCheckout, Options{Secret: []byte("0123456789abcdef")})
	first, second := r.get("/checkout"), r.get("/checkout")
	if fieldRE.FindString(first.body) == "" || fieldRE.FindString(first.body) == fieldRE.FindString(second.body) {
		t.Errorf("the keys are %s and %s", first.body, second.body)
	}
	if got := readable(first.body); got != strings.Replace(checkout, "<form method=post action=/pay>", "<form data-nebis method=post action=/pay>[KEY][SCRIPT]", 1) {
		t.Errorf("the page is %s", got)
	}
	for name := range caching {
		if got := first.Header.Get(name); name != "Cache-Control" && got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := first.Header.Get("Cache-Control"); got != "private, no-store" {
		t.Errorf("Cache-Control: %s", got)
	}
	if head := r.send("HEAD", "/checkout", ""); head.Header.Get("Cache-Control") != "private, no-store" || head.Header.Get("Content-Length") != "" || head.Header.Get("Etag") != "" {
		t.Errorf("HEAD: %v", head.Header)
	}
	if log := r.log.String(); !strings.Contains(log, "forms=1") {
		t.Errorf("the log: %s", log)
	}
}

func TestWhatHasNoFormOfOursIsTheVeryAnswer(t *testing.T) {
	for name, s := range map[string]*shop{
		"no form":           {body: "<p>hello</p>"},
		"no form, gzip":     {body: string(zip("<p>hello</p>")), header: map[string]string{"Content-Encoding": "gzip"}},
		"not really gzip":   {body: checkout, header: map[string]string{"Content-Encoding": "gzip"}},
		"broken gzip":       {body: string(zip("<p>hello</p>"))[:20], header: map[string]string{"Content-Encoding": "gzip"}},
		"brotli":            {body: checkout, header: map[string]string{"Content-Encoding": "br"}},
		"two encodings":     {body: checkout, header: map[string]string{"Content-Encoding": "gzip, br"}},
		"a script":          {body: checkout, header: map[string]string{"Content-Type": "text/javascript"}},
		"json":              {body: checkout, header: map[string]string{"Content-Type": "application/json"}},
		"xhtml":             {body: checkout, header: map[string]string{"Content-Type": "application/xhtml+xml"}},
		"a download":        {body: checkout, header: map[string]string{"Content-Disposition": "attachment; filename=x.html"}},
		"part of a page":    {body: checkout, status: http.StatusPartialContent, header: map[string]string{"Content-Range": "bytes 0-9/10"}},
		"a redirect":        {body: checkout, status: http.StatusFound, header: map[string]string{"Location": "/x"}},
		"another charset":   {body: checkout, header: map[string]string{"Content-Type": `text/html; charset="ISO-2022-JP"`}},
		"form of elsewhere": {body: "<form method=post action=https://bank.example/></form>"},
	} {
		header := map[string]string{"ETag": `"a"`, "Cache-Control": "max-age=9"}
		for k, v := range s.header {
			header[k] = v
		}
		s.header = header
		r := front(t, s, formsOnCheckout, Options{Secret: []byte("0123456789abcdef")})
		res := r.get("/checkout", "Accept-Encoding: gzip, br")
		if res.body != s.body || res.Header.Get("Etag") != `"a"` || res.Header.Get("Cache-Control") != "max-age=9" || res.Header.Get("Content-Length") != strconv.Itoa(len(s.body)) {
			t.Errorf("%s: %q %v", name, res.body, res.Header)
		}
		if len(res.Cookies()) > 0 {
			t.Errorf("%s: %v", name, res.Cookies())
		}
	}
}

func TestOtherPagesAreLeftAlone(t *testing.T) {
	r := front(t, &shop{body: checkout}, formsOnCheckout, Options{})
	if got := r.get("/cart").body; got != checkout {
		t.Errorf("got %s", got)
	}
}

func TestTheFormShownAgainGetsAKey(t *testing.T) {
	r := front(t, &shop{body: checkout, status: http.StatusUnprocessableEntity}, formsOnCheckout, Options{})
	if got := r.send("POST", "/checkout", "a=1"); got.StatusCode != http.StatusUnprocessableEntity || fieldRE.FindString(got.body) == "" {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
}

func TestGzippedPages(t *testing.T) {
	s := &shop{body: string(zip(checkout)), header: map[string]string{"Content-Encoding": "gzip"}}
	r := front(t, s, formsOnCheckout, Options{})
	want := readable(front(t, &shop{body: checkout}, formsOnCheckout, Options{}).get("/checkout").body)
	zipped := r.get("/checkout", "Accept-Encoding: br, gzip;q=0.5")
	if zipped.Header.Get("Content-Encoding") != "gzip" || readable(unzip(t, zipped.body)) != want {
		t.Errorf("with gzip: %v %q", zipped.Header, zipped.body)
	}
	if got := strings.Join(s.got["Accept-Encoding"], ","); !strings.HasSuffix(got, "gzip") {
		t.Errorf("the site was asked for %s", got)
	}
	plain := r.get("/checkout")
	if plain.Header.Get("Content-Encoding") != "" || readable(plain.body) != want {
		t.Errorf("without: %v %q", plain.Header, plain.body)
	}
	if got := s.got.Get("Accept-Encoding"); got != "identity" {
		t.Errorf("the site was asked for %s", got)
	}
}

func TestTheBrowserDoesNotKeepAPageFromBefore(t *testing.T) {
	s := &shop{body: checkout}
	r := front(t, s, formsOnCheckout, Options{})
	since := []string{`If-None-Match: "a"`, "If-Modified-Since: Mon, 02 Jan 2034 15:04:05 GMT"}
	r.get("/checkout", append(since, "Accept: text/html,*/*")...)
	if s.got.Get("If-None-Match") != "" || s.got.Get("If-Modified-Since") != "" {
		t.Errorf("for a page the site was asked %v", s.got)
	}
	r.get("/checkout.css", append(since, "Accept: text/css,*/*;q=0.1", "Range: bytes=0-1")...)
	if s.got.Get("If-None-Match") == "" || s.got.Get("If-Modified-Since") == "" || s.got.Get("Range") == "" {
		t.Errorf("for a style sheet the site was asked %v", s.got)
	}
	s.status, s.body = http.StatusNotModified, ""
	if got := r.get("/checkout.css", since...); got.StatusCode != http.StatusNotModified {
		t.Errorf("got %d", got.StatusCode)
	}
}

func TestAPageThatComesSlowlyIsPassedOn(t *testing.T) {
	next := make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for _, c := range []byte("<p>a</p><form method=post></form>") {
			_, _ = w.Write([]byte{c})
			w.(http.Flusher).Flush()
		}
		<-next
		fmt.Fprint(w, "<p>end</p>")
	}), formsOnCheckout, Options{})
	res, err := http.Get(r.url + "/checkout")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, buf := "", make([]byte, 1000)
	for !strings.Contains(got, "</form>") {
		n, err := res.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	close(next) // the form was there before the end was made
	rest, err := io.ReadAll(res.Body)
	if want := "<p>a</p><form data-nebis method=post>[KEY][SCRIPT]</form><p>end</p>"; err != nil || readable(got+string(rest)) != want {
		t.Errorf("%v %s", err, readable(got+string(rest)))
	}
}

func TestAPageThatBreaksOffBreaksOff(t *testing.T) {
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, checkout+"<form method=post>")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}), formsOnCheckout, Options{})
	res, err := http.Get(r.url + "/checkout")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("it seems whole: %s", text)
	}
}

func TestTheVisitorGetsACookieBesideTheKey(t *testing.T) {
	secret := []byte("0123456789abcdef")
	r := front(t, &shop{body: checkout}, formsOnCheckout, Options{Secret: secret})
	res := r.get("/checkout", "X-Forwarded-Proto: https")
	cookies := res.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || !cookies[0].Secure || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Path != "/" {
		t.Fatalf("the cookies are %v", cookies)
	}
	if again := r.get("/checkout", "Cookie: "+cookies[0].Name+"="+cookies[0].Value); len(again.Cookies()) != 0 {
		t.Errorf("it is set again: %v", again.Cookies())
	}
	if plain := r.get("/checkout"); plain.Cookies()[0].Secure || plain.Cookies()[0].Value == cookies[0].Value {
		t.Errorf("on plain http: %v", plain.Cookies())
	}
	if forged := r.get("/checkout", "Cookie: "+cookies[0].Name+"=x"+cookies[0].Value); len(forged.Cookies()) != 1 {
		t.Error("a forged one is taken for ours")
	}
	for _, conf := range []string{"owner: none\n", "owner: cookie:sid\n"} {
		if got := front(t, &shop{body: checkout}, conf+formsOnCheckout, Options{Secret: secret}).get("/checkout"); len(got.Cookies()) != 0 || fieldRE.FindString(got.body) == "" {
			t.Errorf("%s: %v", conf, got.Cookies())
		}
	}
	if elsewhere := r.get("/"); len(elsewhere.Cookies()) != 0 {
		t.Errorf("a page without a key sets %v", elsewhere.Cookies())
	}
	if visitorAge < 30*day || visitorAge > 400*24*time.Hour {
		t.Error("browsers cut the cookie's age")
	}
}

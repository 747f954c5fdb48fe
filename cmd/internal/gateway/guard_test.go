package gateway

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// protected is a gateway that guards its routes on a real database.
type protected struct {
	*rig
	db   *sql.DB
	runs atomic.Int64 // what the site has got
}

const (
	formType = "Content-Type: application/x-www-form-urlencoded"
	person   = "Accept: text/html,*/*"
)

func protect(t *testing.T, conf string, h http.HandlerFunc) *protected {
	t.Helper()
	return protectOn(t, dbtest.Lookup("sqlite-modernc"), conf, h)
}

func protectOn(t *testing.T, c dbtest.Config, conf string, h http.HandlerFunc) *protected {
	t.Helper()
	p := &protected{db: c.Open(t)}
	store := newStore(t, c, p.db)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.runs.Add(1)
		h(w, r)
	}))
	t.Cleanup(site.Close)
	p.rig = frontOf(t, site.URL, conf, Options{Guard: guardOn(t, store, site.URL, conf)})
	return p
}

func newStore(t *testing.T, c dbtest.Config, db *sql.DB) *nebis.Store {
	t.Helper()
	store, err := nebis.New(db, c.Dialect, nil)
	if err == nil {
		_, err = store.Migrate(t.Context(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func guardOn(t *testing.T, store *nebis.Store, site, conf string) func(*Route) (func(http.Handler) http.Handler, error) {
	t.Helper()
	c := read(t, "upstream: "+site+"\n"+conf)
	return Guard(store, c, nil, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func (p *protected) want(r reply, status int, outcome string) {
	p.t.Helper()
	if got := r.Header.Get("Idempotency-Status"); r.StatusCode != status || got != outcome {
		p.t.Errorf("got %d %q, want %d %q: %s", r.StatusCode, got, status, outcome, r.body)
	}
}

func (p *protected) wantRuns(n int64) {
	p.t.Helper()
	if got := p.runs.Load(); got != n {
		p.t.Errorf("the site got it %d times, want %d", got, n)
	}
}

const route = "owner: none\nroutes:\n- match: POST /checkout\n"

// ordered is what a shop answers.
func ordered(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "session", Value: "s3cret"})
	w.Header().Set("Location", "/orders/7")
	w.WriteHeader(http.StatusSeeOther)
}

func TestAProtectedWriteReachesTheSiteOnce(t *testing.T) {
	p := protect(t, route, ordered)
	first := p.send("POST", "/checkout", "idempotency_key=k&item=tea", formType)
	p.want(first, 303, "created")
	second := p.send("POST", "/checkout", "idempotency_key=k&item=tea", formType)
	p.want(second, 303, "replayed")
	if second.Header.Get("Location") != "/orders/7" || second.Header.Get("Set-Cookie") != "" || first.Header.Get("Set-Cookie") == "" {
		t.Errorf("%v\n%v", first.Header, second.Header)
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k&item=coffee", formType), 422, "mismatch")
	p.wantRuns(1)
	p.want(p.send("POST", "/checkout", "item=tea", formType), 303, "")
	p.want(p.send("POST", "/elsewhere", "idempotency_key=k&item=tea", formType), 303, "")
	p.wantRuns(3)
	if log := p.log.String(); !strings.Contains(log, "outcome=replayed") || strings.Contains(log, "s3cret") {
		t.Error(log)
	}
}

func TestTheSiteGetsTheKeyUnderItsOwnName(t *testing.T) {
	p := protect(t, route, echo)
	r := p.send("POST", "/checkout", "idempotency_key=k-1&item=tea", formType, "Idempotency-Key: other", "X-Nebis-Key: forged")
	if !strings.Contains(r.body, "X-Nebis-Key: k-1\r\n") || strings.Contains(r.body, "Idempotency-Key:") || strings.Contains(r.body, "forged") {
		t.Error(r.body)
	}
	if !strings.HasSuffix(r.body, "idempotency_key=k-1&item=tea") {
		t.Error(r.body)
	}
}

func TestTheKeyComesFromWhereTheRouteSays(t *testing.T) {
	var parts bytes.Buffer
	m := multipart.NewWriter(&parts)
	_ = m.WriteField("order_no", "n-1")
	f, _ := m.CreateFormFile("photo", "a.jpg")
	_, _ = f.Write(bytes.Repeat([]byte("x"), 1<<10))
	_ = m.Close()
	for name, c := range map[string]struct {
		source, path, body, media string
	}{
		"json":      {"json:/order/id", "/checkout", `{"order":{"id":17}}`, "application/json"},
		"query":     {"query:k", "/checkout?k=17", "x", "text/plain"},
		"header":    {"header:X-Request-Id", "/checkout", "x", "text/plain"},
		"two":       {`"form:trade_no+trade_status"`, "/checkout", "trade_status=OK&trade_no=7", "application/x-www-form-urlencoded"},
		"multipart": {"form:order_no", "/checkout", parts.String(), m.FormDataContentType()},
		"chinese":   {"form:单号", "/checkout", url.Values{"单号": {"甲 乙"}}.Encode(), "application/x-www-form-urlencoded"},
	} {
		t.Run(name, func(t *testing.T) {
			p := protect(t, route+"  key: "+c.source+"\n  required: true\n", ordered)
			for _, want := range []string{"created", "replayed"} {
				p.want(p.send("POST", c.path, c.body, "Content-Type: "+c.media, "X-Request-Id: r-9"), 303, want)
			}
			p.want(p.send("POST", "/checkout", "{}", "Content-Type: application/json"), 400, "invalid")
			p.wantRuns(1)
		})
	}
}

func TestTwoKeysInOneRequestAreRefused(t *testing.T) {
	p := protect(t, route, ordered)
	p.want(p.send("POST", "/checkout", "idempotency_key=a&idempotency_key=b", formType), 400, "invalid")
	p.wantRuns(0)
}

// What is no success does not burn the key, unless nobody knows.
func TestTheRouteSaysWhatASuccessIs(t *testing.T) {
	type answer struct {
		status   int
		location string
		body     string
	}
	for _, c := range []struct {
		conf string
		a    answer
		want string
	}{
		{"", answer{200, "", "thanks"}, "created"},
		{"", answer{422, "", "no such item"}, "released"},
		{"", answer{404, "", ""}, "released"},
		{"", answer{500, "", "Fatal error"}, "unknown"},
		{"", answer{503, "", ""}, "unknown"},
		{"  on_upstream_error: free\n", answer{503, "", "x"}, "released"},
		{"  success: {not_location: /login}\n", answer{302, "/login?back=1", ""}, "released"},
		{"  success: {not_location: /login}\n", answer{302, "/orders/1", ""}, "created"},
		{"  success: {body: success}\n", answer{200, "", "fail"}, "released"},
		{"  success: {body: success}\n", answer{200, "", " success\n"}, "created"},
		{"  success: {json: /code=0}\n", answer{200, "", `{"code":1}`}, "released"},
		{"  success: {json: /code=0}\n", answer{200, "", `{"code":0}`}, "created"},
		// Of this one only the beginning can be judged.
		{"  max_body: 8\n  success: {json: /code=0}\n", answer{200, "", `{"code":0,"more":1}`}, "unknown"},
		{"  max_body: 8\n", answer{200, "", `{"code":0,"more":1}`}, "created"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := protect(t, route+"  key: header:Idempotency-Key\n"+c.conf, func(w http.ResponseWriter, _ *http.Request) {
				if c.a.location != "" {
					w.Header().Set("Location", c.a.location)
				}
				w.WriteHeader(c.a.status)
				_, _ = io.WriteString(w, c.a.body)
			})
			r := p.send("POST", "/checkout", "", "Idempotency-Key: k")
			status := c.a.status
			if c.want == "unknown" {
				status = 409
			}
			p.want(r, status, c.want)
			if (r.body == c.a.body) != (c.want != "unknown") {
				t.Errorf("%q", r.body)
			}
			p.send("POST", "/checkout", "", "Idempotency-Key: k")
			runs := int64(1)
			if c.want == "released" {
				runs = 2
			}
			p.wantRuns(runs)
		})
	}
}

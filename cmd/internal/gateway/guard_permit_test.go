package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// guarding is a site that is asked who may order.
type guarding struct {
	*protected
	rights atomic.Value // what it answers the question with, by default 204
	asked  chan *http.Request
}

func guardedBy(t *testing.T, conf string) *guarding {
	t.Helper()
	g := &guarding{asked: make(chan *http.Request, 20)}
	g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	g.protected = protect(t, "forms: [GET /checkout*]\n"+route+conf, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/may" {
			ordered(w, r)
			return
		}
		g.runs.Add(-1) // it is no write
		g.asked <- r
		g.rights.Load().(http.HandlerFunc)(w, r)
	})
	return g
}

func (g *guarding) order(key string) reply {
	g.t.Helper()
	return g.send("POST", "/checkout", "idempotency_key="+key+"&item=tea", formType, "Cookie: session=ann")
}

const notYours = `<form method="post" action="/login">not yours</form>`

// Case 16. Who has lost the right gets what the site says to that, and not the answer
// of before; who has it again, the answer.
func TestARightThatWasRevokedEndsTheReplay(t *testing.T) {
	g := guardedBy(t, "  permit: /may?do=order\n")
	g.want(g.order("k"), 303, "created")
	if len(g.asked) != 1 {
		t.Fatalf("the site was asked %d times", len(g.asked))
	}
	r := <-g.asked
	if r.Method != "GET" || r.URL.RawQuery != "do=order" || r.Header.Get("Cookie") != "session=ann" || r.Header.Get("Content-Type") != "" ||
		r.ContentLength != 0 || r.Header.Get("X-Nebis-Key") != "" || r.Header.Get("X-Forwarded-For") == "" {
		t.Errorf("asked with %s %s: %v", r.Method, r.URL, r.Header)
	}
	g.want(g.order("k"), 303, "replayed")
	for status, location := range map[int]string{403: "", 401: "", 302: "/login", 500: ""} {
		g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.Header().Set("Set-Cookie", "session=")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			fmt.Fprint(w, notYours)
		}))
		for _, key := range []string{"k", "new"} {
			got := g.order(key)
			g.want(got, status, "")
			if got.body != notYours || got.Header.Get("Location") != location || got.Header.Get("Set-Cookie") != "session=" {
				t.Errorf("%v %s", got.Header, got.body)
			}
		}
	}
	g.wantRuns(1)
	if n := strings.Count(g.log.String(), "outcome=not-permitted"); n != 8 {
		t.Errorf("%d refusals in the log", n)
	}
	g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("yes ", 1<<12)) }))
	g.want(g.order("k"), 303, "replayed")
	g.want(g.order("new"), 303, "created")
	g.wantRuns(2)
}

// What has no key is not held and not replayed: the site judges it as ever.
func TestAWriteWithoutAKeyIsNotAskedFor(t *testing.T) {
	g := guardedBy(t, "  permit: /may\n")
	g.want(g.send("POST", "/checkout", "item=tea", formType), 303, "")
	g.wantRuns(1)
	if len(g.asked) != 0 {
		t.Error("the site was asked")
	}
}

// Nothing was done, and it is said so: the key is free for the next try.
func TestASiteThatIsAwayPermitsNothing(t *testing.T) {
	g := guardedBy(t, "  permit: /may\n")
	g.want(g.order("k"), 303, "created")
	g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	}))
	for _, key := range []string{"k", "new"} {
		got := g.order(key)
		g.want(got, 502, "")
		if !strings.Contains(got.body, "could not be reached") {
			t.Error(got.body)
		}
	}
	g.wantRuns(1)
}

// The question is none of the write's own: what the sender says of the body, of the
// version that is to be changed, and to the next hop only, is not asked with.
func TestWhatIsSaidOfTheWriteIsNotAskedWith(t *testing.T) {
	g := guardedBy(t, "  permit: /may\n")
	g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "may.txt", time.Unix(1e9, 0), strings.NewReader("yes"))
	}))
	for i, header := range []string{
		"If-None-Match: *", `If-Match: "v7"`, "If-Modified-Since: Sun, 06 Nov 2044 08:49:37 GMT", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
		"Range: bytes=90-", "Content-Language: en", "Content-Md5: x", "Connection: X-Hop",
	} {
		got := g.send("POST", "/checkout", fmt.Sprint("item=tea&idempotency_key=", i), formType, header, "X-Hop: next")
		g.want(got, 303, "created")
		name, _, _ := strings.Cut(header, ": ")
		if r := <-g.asked; r.Header.Get(name) != "" || (name == "Connection") != (r.Header.Get("X-Hop") == "") {
			t.Errorf("%s: asked with %v", header, r.Header)
		}
	}
}

// What follows a yes is not waited for, and may break off.
func TestOnlyTheHeaderOfAYesIsRead(t *testing.T) {
	g := guardedBy(t, "  permit: /may\n")
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for _, media := range []string{"text/plain", "text/event-stream"} {
		g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			fmt.Fprint(w, "yes, and")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-over:
			}
		}))
		g.want(g.order(media), 303, "created")
	}
	g.rights.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		fmt.Fprint(w, "yes")
	}))
	g.want(g.order("broken"), 303, "created")
}

// A site that does not answer the question is waited for as long as for the write.
func TestTheQuestionHasTheDeadlineOfTheWrite(t *testing.T) {
	g := guardedBy(t, "  permit: /may\n  deadline: 100ms\n")
	g.rights.Store(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	got := g.order("k")
	g.want(got, 502, "")
	if !strings.Contains(got.body, "Nothing was done") {
		t.Error(got.body)
	}
	g.wantRuns(0)
}

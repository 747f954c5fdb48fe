package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Case 55, and what else a site may do instead of answering.
func TestASiteThatBreaksOffIsNeverAskedAgain(t *testing.T) {
	cut := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				return
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = rw.WriteString(text)
			_ = rw.Flush()
			_ = conn.Close()
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"without a word":     cut(""),
		"within the header":  cut("HTTP/1.1 200 OK\r\nContent-"),
		"within the body":    cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthanks"),
		"within a chunk":     cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthan"),
		"no HTTP":            cut("OK\n"),
		"after a large part": cut("HTTP/1.1 500 No\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("x", 2000)),
	} {
		t.Run(name, func(t *testing.T) {
			p := protect(t, route+"  look: /my/orders\n  max_body: 1000\n", h)
			p.get("/") // so that there is a connection to be used again
			r := p.send("POST", "/checkout", "idempotency_key=k&item=tea", formType, person, "Accept-Language: zh-CN")
			p.want(r, 409, "unknown")
			for _, want := range []string{"无法确定是否已完成", `href="/my/orders"`, "确认没有，再提交一次"} {
				if !strings.Contains(r.body, want) {
					t.Errorf("no %s in %s", want, r.body)
				}
			}
			p.want(p.send("POST", "/checkout", "idempotency_key=k&item=tea", formType), 409, "unknown")
			p.wantRuns(2)
			if log := p.log.String(); strings.Contains(log, "item=tea") {
				t.Error(log)
			}
		})
	}
	p := protect(t, route+"  on_upstream_error: free\n", cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthanks"))
	r := p.send("POST", "/checkout", "idempotency_key=k", formType)
	p.want(r, 502, "released")
	if strings.Contains(r.body, "thanks") {
		t.Error(r.body)
	}
}

// A gateway's own 502 is no answer of the site's, whatever the route calls a success.
func TestNoAnswerIsNeverASuccess(t *testing.T) {
	p := protect(t, route+"  success: {status: 200-599}\n", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 409, "unknown")
}

// On a connection that was used before, Go's transport sends a GET twice.
func TestACallbackByGETThatGetsNoAnswerIsSentOnce(t *testing.T) {
	var asked atomic.Int64
	p := protect(t, "owner: none\nroutes:\n- match: GET /notify\n  kind: callback\n  key: query:no\n  success: {body: success}\n",
		func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/notify" {
				asked.Add(1)
				panic(http.ErrAbortHandler)
			}
		})
	p.get("/")
	p.want(p.get("/notify?no=7"), 409, "unknown")
	if n := asked.Load(); n != 1 {
		t.Errorf("the site was asked %d times", n)
	}
}

func TestAWaitIsTheRoutesTheKindsOrTheRequests(t *testing.T) {
	for conf, want := range map[string]time.Duration{
		"": 0, "  wait: 0s\n": -1, "  wait: 7s\n": 7 * time.Second, "  kind: form\n": 25 * time.Second, "  kind: api\n": 2 * time.Second,
	} {
		c := read(t, "upstream: http://127.0.0.1:1\n"+route+conf)
		if got := c.Routes[0].lease(nil).Wait; got != want {
			t.Errorf("%q: %v, want %v", conf, got, want)
		}
	}
}

// A part of a large answer cannot be taken back: the client must see that it is one.
func TestALargeAnswerThatBreaksOffIsNotTakenForAWholeOne(t *testing.T) {
	p := protect(t, route+"  max_body: 100\n", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9999")
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", p.url+"/checkout", strings.NewReader("idempotency_key=k"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("it looks whole")
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 409, "unknown")
	p.wantRuns(1)
}

func TestAWriteThatCannotHaveReachedTheSiteLeavesTheKeyFree(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	c := dbtest.Lookup("sqlite-modernc")
	p := &protected{}
	p.rig = frontOf(t, "http://"+addr, route, Options{Guard: guardOn(t, newStore(t, c, c.Open(t)), "http://"+addr, route)})
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 502, "released")
	if ln, err = net.Listen("tcp", addr); err != nil {
		t.Skip("somebody else has taken the port")
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(ordered)}}
	srv.Start()
	defer srv.Close()
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 303, "created")
}

// Case 58.
func TestAClientThatGoesAwayHasItsWriteFinishedAndRecorded(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	p := protect(t, route+"  wait: 1m\n", func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-leave
		ordered(w, r)
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := "idempotency_key=k"
	fmt.Fprintf(conn, "POST /checkout HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", formType, len(body), body)
	<-arrived
	_ = conn.Close()
	answered := make(chan reply, 1)
	go func() { answered <- p.send("POST", "/checkout", body, formType) }()
	close(leave)
	p.want(<-answered, 303, "replayed")
	p.wantRuns(1)
}

// Case 56.
func TestASiteThatIsSlowerThanTheDeadlineIsUnknown(t *testing.T) {
	leave := make(chan bool)
	p := protect(t, route+"  deadline: 50ms\n", func(w http.ResponseWriter, r *http.Request) { <-leave })
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 409, "unknown")
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 409, "unknown")
	p.wantRuns(1)
	close(leave)
}

func TestTheSiteIsAskedWhatBecameOfAWrite(t *testing.T) {
	said, asked := "", make(chan *http.Request, 10)
	down := true
	p := protect(t, route+"  verify: /orders/by-key?k={key}\n", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders/by-key" {
			asked <- r
			w.Header().Set("X-Nebis-Outcome", said)
			ordered(w, r)
			return
		}
		if down {
			w.WriteHeader(500)
			return
		}
		ordered(w, r)
	})
	send := func(key string) reply {
		return p.send("POST", "/checkout", "idempotency_key="+key, formType, "Cookie: session=ann")
	}
	p.want(send("k%261"), 409, "unknown")
	p.want(send("k%261"), 409, "unknown") // it says nothing
	r := <-asked
	if r.URL.Query().Get("k") != "k&1" || r.Header.Get("X-Nebis-Key") != "k&1" || r.Header.Get("Cookie") != "session=ann" || r.Method != "GET" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	said = "done"
	got := send("k%261")
	p.want(got, 303, "replayed")
	if got.Header.Get("Location") != "/orders/7" || got.Header.Get("X-Nebis-Outcome") != "" {
		t.Errorf("%v", got.Header)
	}
	p.want(send("k2"), 409, "unknown")
	said, down = "not-done", false
	p.want(send("k2"), 303, "created")
}

func TestAnotherHostIsAskedWithoutThePersonsCookies(t *testing.T) {
	asked := make(chan http.Header, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header
		w.Header().Set("X-Nebis-Outcome", "done")
	}))
	defer other.Close()
	p := protect(t, route+"  verify: "+other.URL+"\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	for _, want := range []string{"unknown", "replayed"} {
		r := p.send("POST", "/checkout", "idempotency_key=k", formType, "Cookie: session=ann", "Authorization: Basic x")
		if got := r.Header.Get("Idempotency-Status"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if h := <-asked; h.Get("X-Nebis-Key") != "k" || h.Get("Cookie")+h.Get("Authorization") != "" {
		t.Errorf("%v", h)
	}
}

// Case 33.
func TestADatabaseThatIsAwayClosesTheRouteUnlessItSaysOpen(t *testing.T) {
	for conf, want := range map[string]int{"": 503, "  on_store_error: open\n": 303} {
		p := protect(t, route+conf, ordered)
		_ = p.db.Close()
		r := p.send("POST", "/checkout", "idempotency_key=k", formType)
		if r.StatusCode != want {
			t.Errorf("%q: %d %s", conf, r.StatusCode, r.body)
		}
	}
}

package gateway

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

func TestACallbackByGETIsAcknowledgedAlikeEachTime(t *testing.T) {
	n := 0
	p := protect(t, "owner: none\nroutes:\n- match: GET /notify\n  kind: callback\n  key: query:trade_no\n  success: {body: success}\n",
		func(w http.ResponseWriter, _ *http.Request) {
			n++
			_, _ = io.WriteString(w, []string{"", "fail", "success"}[n])
		})
	for i, want := range []string{"released fail", "created success", "replayed success"} {
		r := p.get(fmt.Sprintf("/notify?trade_no=7&time=%d", i))
		if got := r.Header.Get("Idempotency-Status") + " " + r.body; got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
}

func TestAStreamOfEventsFromAProtectedWriteIsNotHeldBack(t *testing.T) {
	told := make(chan bool)
	p := protect(t, route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-told
		_, _ = io.WriteString(w, "data: 2\n\n")
	})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", p.url+"/checkout", strings.NewReader("idempotency_key=k"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 9)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Errorf("%q %v", first, err)
	}
	close(told)
	if rest, _ := io.ReadAll(res.Body); string(rest) != "data: 2\n\n" {
		t.Errorf("%q", rest)
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k", formType), 410, "not-kept")
}

// An answer without a length is kept all the same.
func TestAChunkedAnswerIsReplayed(t *testing.T) {
	p := protect(t, route, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "thanks ")
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, want := range []string{"created", "replayed"} {
		r := p.send("POST", "/checkout", "idempotency_key=k", formType)
		p.want(r, 200, want)
		if r.body != "thanks thanks thanks " {
			t.Error(r.body)
		}
	}
}

func TestALargeUploadPassesAndItsKeyIsFoundAtItsBeginning(t *testing.T) {
	var size atomic.Int64
	p := protect(t, route+"  max_body: 1KiB\n  required: true\n", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		size.Store(n)
		ordered(w, r)
	})
	big := strings.Repeat("x", 1<<20)
	p.want(p.send("POST", "/checkout", "idempotency_key=k&photo="+big, formType), 303, "created")
	if size.Load() != int64(len(big))+24 {
		t.Errorf("%d bytes have come", size.Load())
	}
	p.want(p.send("POST", "/checkout", "idempotency_key=k&photo="+big, formType), 303, "replayed")
	p.want(p.send("POST", "/checkout", "photo="+big+"&idempotency_key=k", formType), 400, "invalid")
	cut := "photo=" + big[:1<<10-27] + "&idempotency_key=abcdef" // three letters of it are within
	p.want(p.send("POST", "/checkout", cut, formType), 400, "invalid")
	p.wantRuns(1)
}

// Case 34: two gateways on one database, fifty from each.
func TestTwoGatewaysOnOneDatabaseLetOneThrough(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			conf := route + "  wait: 5m\n"
			p := protectOn(t, c, conf, ordered)
			other := frontOf(t, siteOf(p), conf, Options{Guard: guardOn(t, newStore(t, c, p.db), siteOf(p), conf)})
			replies := make(chan reply, 100)
			for i := range cap(replies) {
				go func() {
					replies <- []*rig{p.rig, other}[i%2].send("POST", "/checkout", "idempotency_key=k", formType)
				}()
			}
			for range cap(replies) {
				if r := <-replies; r.StatusCode != 303 || r.Header.Get("Location") != "/orders/7" {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
			}
			p.wantRuns(1)
		})
	}
}

// siteOf is the address of the site behind a gateway.
func siteOf(p *protected) string { return p.g.conf.Upstream }

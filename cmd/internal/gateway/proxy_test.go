package gateway

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestARequestPassesAsItCame(t *testing.T) {
	r := front(t, http.HandlerFunc(echo), "", Options{})
	for _, target := range []string{"/", "/a%2Fb/%E8%B4%AD?x=%B9%BA%ce;y&&z=%zz", "//double//slash/../x", "/a?", "/%7Euser"} {
		got := r.get(target, "Host: shop.example", "Cookie: a=1; b=2").body
		if !strings.HasPrefix(got, "GET "+target+" shop.example\n") && target != "/a?" || !strings.Contains(got, "Cookie: a=1; b=2\r\n") {
			t.Errorf("%s became %s", target, got)
		}
	}
	got := r.send("DELETE", "/x", "body", "Connection: X-Hop", "X-Hop: 1", "Te: trailers", "Keep-Alive: 1", "Idempotency-Key: k").body
	if !strings.HasSuffix(got, "body") || strings.Contains(got, "X-Hop") || strings.Contains(got, "Keep-Alive") || !strings.Contains(got, "Idempotency-Key: k") {
		t.Errorf("got %s", got)
	}
}

func TestOnlyATrustedProxySaysWhoAsks(t *testing.T) {
	sent := []string{
		"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: shop.example", "X-Real-IP: 203.0.113.9",
		"Forwarded: for=203.0.113.9", "X-Nebis-Key: forged", "X_Nebis_Key: forged", "X_Forwarded_For: 1.1.1.1", "X-Forwarded-Port: 443",
	}
	trusted := front(t, http.HandlerFunc(echo), "", Options{})
	got := trusted.get("/", sent...).body
	for _, want := range []string{
		"X-Forwarded-For: 203.0.113.9, 127.0.0.1\r\n", "X-Forwarded-Proto: https\r\n", "X-Forwarded-Host: shop.example\r\n",
		"X-Real-Ip: 203.0.113.9\r\n", "Forwarded: for=203.0.113.9\r\n", "X-Forwarded-Port: 443\r\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	stranger := front(t, http.HandlerFunc(echo), "trusted_proxies: [10.0.0.0/8]", Options{})
	if other := stranger.get("/", sent...).body; strings.Contains(other, "203.0.113.9") || strings.Contains(other, "443") || !strings.Contains(other, "X-Forwarded-For: 127.0.0.1\r\n") || !strings.Contains(other, "X-Forwarded-Proto: http\r\n") {
		t.Errorf("of a stranger the site gets %s", other)
	} else if got += other; strings.Contains(got, "forged") || strings.Contains(got, "1.1.1.1") {
		t.Errorf("a forged header got through: %s", got)
	}
	if log := trusted.log.String() + stranger.log.String(); strings.Count(log, "client=203.0.113.9") != 1 || strings.Count(log, "client=127.0.0.1") != 1 {
		t.Errorf("the log has %s", log)
	}
}

func TestTheKeyGoesToTheSiteUnderAnotherName(t *testing.T) {
	r := front(t, http.HandlerFunc(echo), "routes:\n- match: POST /pay", Options{Guard: pass("the-key")})
	got := r.send("POST", "/pay", "x", "Idempotency-Key: a", "X-Idempotency-Key: b", "X-Nebis-Key: forged").body
	if !strings.Contains(got, "X-Nebis-Key: the-key\r\n") || strings.Contains(got, "Idempotency-Key") || strings.Contains(got, "forged") {
		t.Errorf("the site got %s", got)
	}
}

// dying is a site that notes each request and then closes the connection without
// an answer; its first request of a connection it answers.
func dying(t *testing.T) (addr string, seen *atomic.Int32) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	seen = &atomic.Int32{}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if req.Method != http.MethodGet {
						seen.Add(1)
						return
					}
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String(), seen
}

func TestASiteThatDiesGetsNoWriteTwice(t *testing.T) {
	for name, conf := range map[string]string{"protected": "routes:\n- match: POST /pay", "not protected": ""} {
		for _, body := range []string{"", "x=1"} {
			addr, seen := dying(t)
			r := frontOf(t, addr, conf, Options{Guard: pass("k")})
			r.get("/") // now there is a connection that can be used again
			res := r.send("POST", "/pay", body, "Idempotency-Key: k")
			if res.StatusCode != http.StatusBadGateway || !strings.Contains(res.body, "may or may not") || seen.Load() != 1 {
				t.Errorf("%s with body %q: %d %s; the site saw it %d times", name, body, res.StatusCode, res.body, seen.Load())
			}
		}
	}
}

func TestASiteThatIsDownIsSaidSo(t *testing.T) {
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	r := frontOf(t, "http://"+ln.Addr().String(), "", Options{})
	ln.Close()
	page := r.send("POST", "/pay?token=s3cret", "x", "Accept: text/html", "Accept-Language: zh-CN,zh;q=0.9")
	if page.StatusCode != http.StatusBadGateway || !strings.Contains(page.body, "未做任何操作") || page.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page: %d %s", page.StatusCode, page.body)
	}
	program := r.get("/")
	if program.StatusCode != http.StatusBadGateway || program.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(program.body, "Nothing was done") {
		t.Errorf("the program: %d %s", program.StatusCode, program.body)
	}
	if log := r.log.String(); !strings.Contains(log, "status=502") || !strings.Contains(log, "path=/pay") || strings.Contains(log, "s3cret") {
		t.Errorf("the log: %s", log)
	}
}

func TestEventStreamsArriveAtOnce(t *testing.T) {
	next := make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}), "", Options{})
	res, err := http.Get(r.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d: %q, %v", i, line, err)
		}
		_, _ = in.ReadString('\n')
		next <- true // only now the next one is made
	}
}

func TestStoppingEndsStreamsAndFinishesRequests(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		arrived <- true
		<-leave
		fmt.Fprint(w, "done")
	}), "", Options{})
	events, err := http.Get(r.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	answered := make(chan reply, 1)
	go func() { answered <- r.send("POST", "/pay", "x") }()
	<-arrived
	r.stop()
	if text, err := io.ReadAll(events.Body); err != nil || string(text) != "data: 1\n\n" {
		t.Errorf("the stream: %q, %v", text, err)
	}
	close(leave)
	if got := <-answered; got.body != "done" {
		t.Errorf("the request that ran: %d %s", got.StatusCode, got.body)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	r.done <- nil
}

func TestWebSocketsPassThrough(t *testing.T) {
	r := front(t, http.HandlerFunc(webSocketEcho), "forms: ['GET /*']", Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-Websocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("%v %v", res, err)
	}
	// A masked frame with "hello"; the mask is zero.
	frame := []byte{0x81, 0x85, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'}
	for range 3 {
		_, _ = conn.Write(frame)
		got := make([]byte, len(frame))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != string(frame) {
			t.Fatalf("%q %v", got, err)
		}
	}
}

// webSocketEcho takes the connection over and sends every byte back.
func webSocketEcho(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	_ = buf.Flush()
	_, _ = io.Copy(conn, buf)
}

func TestLargeBodiesAreNotHeldInMemory(t *testing.T) {
	const size = 256 << 20
	var heap atomic.Uint64
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := io.Copy(io.Discard, req.Body)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap.Store(m.HeapSys)
		w.Header().Set("Content-Length", fmt.Sprint(size))
		if err == nil && n == size {
			_, _ = io.Copy(w, &endlessPage{part: strings.Repeat("x", 1000), left: size})
		}
	}), "forms: ['GET /*']", Options{})
	req, _ := http.NewRequest("POST", r.url+"/upload", &endlessPage{part: strings.Repeat("y", 1000), left: size})
	req.ContentLength = size
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || n != size {
		t.Errorf("%d bytes came back, %v", n, err)
	}
	// The tests before have used memory as well; a body of 256 MiB would show.
	if heap.Load() > 128<<20 {
		t.Errorf("the heap has %d MiB", heap.Load()>>20)
	}
}

func TestTheGatewaysOwnPages(t *testing.T) {
	reached := atomic.Bool{}
	fail := atomic.Bool{}
	r := front(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }), "", Options{
		Ready: func(context.Context) error {
			if fail.Load() {
				return io.ErrUnexpectedEOF
			}
			return nil
		},
	})
	for path, want := range map[string]int{
		"/.nebis/livez": 200, "/.nebis/readyz": 200, "/.nebis/client.js": 200, "/.nebis/x": 404, "/.nebis/": 404, "/.nebis/client.js?v=" + scriptVersion: 200,
	} {
		if got := r.get(path); got.StatusCode != want || want == 404 && got.body == "" {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	script := r.get("/.nebis/client.js")
	if !strings.Contains(script.body, "nebis") || script.Header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(script.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("the script: %v", script.Header)
	}
	if kept := r.get("/.nebis/client.js?v=" + scriptVersion).Header.Get("Cache-Control"); !strings.Contains(kept, "immutable") {
		t.Errorf("the script of its version: %s", kept)
	}
	if again := r.get("/.nebis/client.js", "If-None-Match: "+script.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("asked for again: %d", again.StatusCode)
	}
	fail.Store(true)
	if got := r.get("/.nebis/readyz"); got.StatusCode != http.StatusServiceUnavailable || strings.Contains(got.body, "EOF") {
		t.Errorf("not ready: %d %s", got.StatusCode, got.body)
	}
	if r.get("/.nebis/livez").StatusCode != http.StatusOK || reached.Load() {
		t.Error("it is not alive, or the site was asked")
	}
}

func TestTheLogHasNoKeyNoQueryAndNoBody(t *testing.T) {
	r := front(t, http.HandlerFunc(echo), "routes:\n- match: POST /pay", Options{Guard: pass("s3cret-key")})
	r.send("POST", "/pay?card=s3cret-query", "s3cret-body", "Idempotency-Key: s3cret-key")
	log := r.log.String()
	for _, want := range []string{"method=POST", "path=/pay", "status=200", "bytes=", "took=", `route="POST /pay"`, "client=127.0.0.1"} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is missing in %s", want, log)
		}
	}
	if strings.Contains(log, "s3cret") {
		t.Errorf("the log tells secrets: %s", log)
	}
}

func TestProtectingWithoutAGuardIsRefused(t *testing.T) {
	c := read(t, "upstream: http://127.0.0.1:1\nroutes:\n- match: POST /pay")
	if _, err := New(c, Options{}); err != ErrNoGuard {
		t.Errorf("it says %v", err)
	}
}

package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

// dying is a site that notes each request for /pay and then closes the connection
// without an answer; others it answers.
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
					if req.URL.Path == "/pay" {
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
			// Now there are connections that could be used again.
			r.get("/")
			r.send("POST", "/", "", "Idempotency-Key: a")
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

package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// h2 sends requests as a front does that speaks HTTP/2 to what is behind it.
type h2 struct {
	t  *testing.T
	tr *http.Transport
}

func newH2(t *testing.T) h2 {
	tr := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return h2{t, tr}
}

func (c h2) send(method, url, body string) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.tr.RoundTrip(req)
	if err != nil {
		c.t.Error(err)
		return &http.Response{}, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.ProtoMajor != 2 {
		c.t.Errorf("%s %v", res.Proto, err)
	}
	return res, string(text)
}

// Fifty at once on one connection.
func TestHTTP2InFrontProtectsTheSame(t *testing.T) {
	var shop atomic.Pointer[http.Request]
	p := protect(t, route+"  wait: 5m\n", func(w http.ResponseWriter, r *http.Request) {
		shop.Store(r)
		ordered(w, r)
	})
	c := newH2(t)
	answers := make(chan string, 50)
	for range cap(answers) {
		go func() {
			res, _ := c.send("POST", p.url+"/checkout", "idempotency_key=k&item=tea")
			answers <- fmt.Sprint(res.StatusCode, " ", res.Header.Get("Location"))
		}()
	}
	for range cap(answers) {
		if got := <-answers; got != "303 /orders/7" {
			t.Error(got)
		}
	}
	p.wantRuns(1)
	if r := shop.Load(); r.ProtoMajor != 1 || r.Host != strings.TrimPrefix(p.url, "http://") || r.Header.Get("X-Nebis-Key") != "k" {
		t.Errorf("the site got %s %s %v", r.Proto, r.Host, r.Header)
	}
}

func TestHTTP2InFrontOfPagesAndUploads(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="/checkout"></form>%d`, n)
		_, _ = io.WriteString(w, big)
	}), "forms: ['GET /page']", Options{})
	c := newH2(t)
	if _, page := c.send("GET", r.url+"/page", ""); !strings.Contains(page, `name="idempotency_key"`) || !strings.HasSuffix(page, big) {
		t.Errorf("%d bytes: %.300s", len(page), page)
	}
	if _, page := c.send("POST", r.url+"/upload", big); !strings.Contains(page[:min(100, len(page))], fmt.Sprint(len(big))) {
		t.Errorf("%.100s", page)
	}
}

// What runs when the gateway stops is answered on the connection that it came by.
func TestStoppingFinishesRequestsOfHTTP2(t *testing.T) {
	arrived, leave := make(chan bool), make(chan bool)
	r := front(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-leave
		fmt.Fprint(w, "done")
	}), "", Options{})
	c := newH2(t)
	answered := make(chan string, 1)
	go func() {
		_, text := c.send("POST", r.url+"/pay", "x")
		answered <- text
	}()
	<-arrived
	r.stop()
	close(leave)
	if got := <-answered; got != "done" {
		t.Errorf("it was answered with %q", got)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	r.done <- nil
}

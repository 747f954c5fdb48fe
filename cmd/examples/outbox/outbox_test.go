package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "docs/outbox.md", "docs/outbox.zh-CN.md")
}

// payments charges each key once, refuses the second order, and breaks its first
// answer off.
type payments struct {
	mu       sync.Mutex
	requests int
	charged  map[string]string // key to what was asked
}

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	switch {
	case strings.Contains(string(body), `"Order":2`):
		w.WriteHeader(http.StatusPaymentRequired)
		return
	case p.requests == 1:
		defer panic(http.ErrAbortHandler)
	}
	p.charged[r.Header.Get("Idempotency-Key")] = string(body)
}

// The program as it stands in the docs, but on a free port.
func TestTheDocsProgramRuns(t *testing.T) {
	p := &payments{charged: map[string]string{}}
	service := httptest.NewServer(p)
	defer service.Close()
	base := exampletest.Start(t, "PAYMENTS="+service.URL)
	for range 2 { // sent twice, done once
		if got := post(t, base, "key-1"); got != "/orders/1" {
			t.Errorf("got %s", got)
		}
	}
	becomes(t, base+"/orders/1", "order 1 is paid")
	if got := post(t, base, "key-2"); got != "/orders/2" {
		t.Errorf("got %s", got)
	}
	becomes(t, base+"/orders/2", "order 2 is cancelled")
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.charged) != 1 || p.requests < 3 {
		t.Errorf("%d requests, charged %v", p.requests, p.charged)
	}
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func post(t *testing.T, base, key string) (location string) {
	t.Helper()
	res, err := client.PostForm(base+"/orders", url.Values{"idempotency_key": {key}, "item": {"tea"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Header.Get("Location")
}

// becomes waits until a page says what is wanted.
func becomes(t *testing.T, url, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		res, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if got = string(body); got == want {
			return
		}
	}
	t.Fatalf("%s says %q, want %q", url, got, want)
}

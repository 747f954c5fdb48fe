package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"outbox.md", "outbox.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```go\n"+string(program)+"```\n") {
			t.Errorf("docs/%s does not have cmd/examples/outbox/main.go as it is", name)
		}
	}
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
	base := start(t, service.URL)
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

// start builds and runs the program in an empty folder, waits until it answers,
// and ends it as Ctrl-C does.
func start(t *testing.T, payments string) (base string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	dir := t.TempDir()
	cmd := exec.CommandContext(context.Background(), build(t, dir, addr))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "PAYMENTS="+payments)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := <-died; err != nil {
			t.Errorf("the program ended: %v", err)
		}
	})
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
		select {
		case err := <-died:
			died <- err
			t.Fatalf("the program ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func build(t *testing.T, dir, addr string) string {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "main.go")
	text := strings.Replace(string(source), "127.0.0.1:8080", addr, 1)
	if err := os.WriteFile(moved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("main.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: moved}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "shop")
	cmd := exec.Command("go", "build", "-overlay", file, "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTheReadmesHaveThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```go\n"+string(program)+"```\n") {
			t.Errorf("%s does not have cmd/examples/readme/main.go as it is", name)
		}
	}
}

// The program as it stands in the README, but on a free port.
func TestTheReadmesProgramRuns(t *testing.T) {
	base := start(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	page := get(t, client, base+"/")
	if kind := http.DetectContentType([]byte(page)); !strings.HasPrefix(kind, "text/html") {
		t.Errorf("a browser takes the page for %s: %s", kind, page)
	}
	key := regexp.MustCompile(`name="idempotency_key"[^>]*value="([^"]+)"`).FindStringSubmatch(page)
	if key == nil {
		t.Fatalf("no key in the form: %s", page)
	}
	form := url.Values{"idempotency_key": {key[1]}, "item": {"tea"}}
	answers := make(chan string, 10)
	for range cap(answers) {
		go func() {
			req, _ := http.NewRequest("POST", base+"/orders", strings.NewReader(form.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Accept", "text/html")
			res, err := client.Do(req)
			if err != nil {
				answers <- err.Error()
				return
			}
			res.Body.Close()
			answers <- res.Status + " " + res.Header.Get("Location")
		}()
	}
	for range cap(answers) {
		if got := <-answers; got != "303 See Other /orders/1" {
			t.Errorf("got %s", got)
		}
	}
	if got := get(t, client, base+"/orders/1"); got != "order 1 is yours" {
		t.Errorf("got %s", got)
	}
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(res.Body).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// start builds and runs the program in an empty folder and waits until it
// answers.
func start(t *testing.T) (base string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	dir := t.TempDir()
	bin := build(t, dir, addr)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-died })
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

package main

import (
	"bufio"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheReadmesHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "README.md", "README.zh-CN.md")
}

// The program as it stands in the README, but on a free port.
func TestTheReadmesProgramRuns(t *testing.T) {
	base := exampletest.Start(t)
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

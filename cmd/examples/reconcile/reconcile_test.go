package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocsHaveThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page(t, "reconcile.md"), "```go\n"+string(program)+"```\n") {
		t.Error("docs/reconcile.md does not have cmd/examples/reconcile/main.go as it is")
	}
}

var code = regexp.MustCompile("(?s)```\\w*\n.*?```")

func TestTheChinesePageHasTheSameCode(t *testing.T) {
	want := code.FindAllString(page(t, "reconcile.md"), -1)
	if got := code.FindAllString(page(t, "reconcile.zh-CN.md"), -1); !slices.Equal(got, want) {
		t.Errorf("docs/reconcile.zh-CN.md has the code\n%q\nand the English page\n%q", got, want)
	}
}

// The program as it stands in the docs, but on a free port.
func TestTheDocsProgramRuns(t *testing.T) {
	base := exampletest.Start(t)
	order := func(outcome, body string) {
		t.Helper()
		req, _ := http.NewRequest("POST", base+"/orders", strings.NewReader(url.Values{"item": {"tea"}}.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Idempotency-Key", "one-key")
		got, status := send(t, req)
		if got != body || status != outcome {
			t.Errorf("got %s %s, wanted %s %s", status, got, outcome, body)
		}
	}
	state := func(id, want string) {
		t.Helper()
		req, _ := http.NewRequest("GET", base+"/orders/"+id, nil)
		if got, _ := send(t, req); got != want {
			t.Errorf("order %s: %s, wanted %s", id, got, want)
		}
	}
	order("created", `{"accepted":true,"id":1}`)
	order("replayed", `{"accepted":true,"id":1}`)
	req, _ := http.NewRequest("POST", base+"/orders/1/cancel", nil)
	send(t, req)
	state("1", `{"status":"cancelled"}`)
	order("created", `{"accepted":true,"id":2}`)
	order("replayed", `{"accepted":true,"id":2}`)
	state("1", `{"status":"cancelled"}`)
	state("2", `{"status":"new"}`)
}

func send(t *testing.T, req *http.Request) (body, outcome string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), res.Header.Get("Idempotency-Status")
}

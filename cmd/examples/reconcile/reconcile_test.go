package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "docs/reconcile.md")
}

func TestTheChinesePageHasTheSameCode(t *testing.T) { exampletest.SameCode(t, "reconcile") }

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

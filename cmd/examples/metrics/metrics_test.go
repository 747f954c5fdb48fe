package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "docs/metrics.md", "docs/metrics.zh-CN.md")
}

// The program as it stands in the docs, but on free ports.
func TestTheDocsProgramRuns(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	base := exampletest.Start(t, "METRICS="+addr)
	for range 2 { // sent twice, done once
		res, err := http.PostForm(base+"/orders", url.Values{"idempotency_key": {"key-1"}, "item": {"tea"}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`nebis_operations_total{outcome="ran",scope="order"} 1`,
		`nebis_operations_total{outcome="replayed-table",scope="order"} 1`,
		`nebis_table_rows{state="done",table="idempotency"} 1`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("there is no %s in\n%s", line, text)
		}
	}
	if res, err := http.Get(base + "/metrics"); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("the shop itself tells its numbers: %v %v", res, err)
	}
}

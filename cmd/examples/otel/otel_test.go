package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

func TestTheDocsHaveThisProgram(t *testing.T) {
	exampletest.HasCode(t, exampletest.Source(t, "main.go"), "docs/metrics.md", "docs/metrics.zh-CN.md")
}

// printed is what the exporter prints, as far as it is looked at.
type printed struct {
	ScopeMetrics []struct {
		Metrics []struct {
			Name string
			Data struct {
				DataPoints []struct {
					Attributes []struct {
						Key   string
						Value struct{ Value any }
					}
					Value float64
				}
			}
		}
	}
}

// count returns the operations that have had an outcome.
func (p printed) count(outcome string) (n float64) {
	for _, s := range p.ScopeMetrics {
		for _, m := range s.Metrics {
			for _, point := range m.Data.DataPoints {
				for _, a := range point.Attributes {
					if m.Name == "nebis.operations" && a.Key == "outcome" && a.Value.Value == outcome {
						n += point.Value
					}
				}
			}
		}
	}
	return n
}

// The program as it stands in the docs, but on a free port and with less patience.
func TestTheDocsProgramRuns(t *testing.T) {
	out, in := io.Pipe()
	defer in.Close()
	base := exampletest.StartTo(t, in, "OTEL_METRIC_EXPORT_INTERVAL=50")
	for range 2 { // sent twice, done once
		res, err := http.PostForm(base+"/orders", url.Values{"idempotency_key": {"key-1"}, "item": {"tea"}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var p printed
		if err := lines.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.count("ran")+p.count("replayed-table") < 2 {
			continue // printed before
		}
		if p.count("ran") != 1 || p.count("replayed-table") != 1 {
			t.Errorf("%+v", p)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }() // until the program has ended
		return
	}
}

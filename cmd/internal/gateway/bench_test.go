package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
)

// BenchmarkProxy compares requests without a key with a bare reverse proxy, in one
// run; the log of requests is written, and thrown away.
func BenchmarkProxy(b *testing.B) {
	body := strings.Repeat("x", 1024)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer site.Close()
	c, err := ReadFile(strings.NewReader("upstream: "+site.URL+"\nforms: ['GET /checkout*']\n"), "")
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(c, Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	upstream, _ := c.UpstreamURL()
	bare := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(upstream); p.SetXForwarded() },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256},
	}
	for _, p := range []struct {
		name string
		h    http.Handler
	}{{"bare", bare}, {"gateway", g}} {
		b.Run(p.name, func(b *testing.B) { load(b, p.h) })
	}
}

// load sends requests from 8 clients.
func load(b *testing.B, h http.Handler) {
	front := httptest.NewServer(h)
	defer front.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := client.Get(front.URL + "/goods/17")
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkInject is how fast keys are put into a page of many tags.
func BenchmarkInject(b *testing.B) {
	page := strings.Repeat(`<div class="a b"><a href="/goods/17">Tea, 100 g</a> <span>12.00</span></div>`+"\n", 500) + `<form method=post action=/pay><button>Pay</button></form>`
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, newInjector(strings.NewReader(page), ownFacts())); err != nil {
			b.Fatal(err)
		}
	}
}

package gateway

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// BenchmarkProxy compares requests through a gateway with those through a bare
// reverse proxy. They take turns, some hundreds each, so that what slows the machine
// down slows all of them; the log of requests is written, and thrown away.
func BenchmarkProxy(b *testing.B) {
	body := strings.Repeat("x", 1024)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
	}))
	defer site.Close()
	upstream, _ := url.Parse(site.URL)
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(upstream); p.SetXForwarded() },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256},
	})
	defer bare.Close()
	for _, c := range dbtest.Each() {
		b.Run(c.Name, func(b *testing.B) {
			gate := httptest.NewServer(benchGateway(b, c, site.URL))
			defer gate.Close()
			get, post := sender(http.MethodGet, ""), sender(http.MethodPost, "")
			keyed := sender(http.MethodPost, "k")
			ways := []way{
				{"bare-get", func() { get(b, bare.URL+"/goods/17") }},
				{"get", func() { get(b, gate.URL+"/goods/17") }},
				{"bare-post", func() { post(b, bare.URL+"/pay") }},
				{"keyless", func() { post(b, gate.URL+"/pay") }},
				{"protected", func() { keyed(b, gate.URL+"/pay") }},
			}
			inTurns(b, ways)
		})
	}
}

func benchGateway(b *testing.B, c dbtest.Config, site string) *Gateway {
	b.Helper()
	db := c.Open(b)
	db.SetMaxIdleConns(clients) // as package dburl does it for the program
	store, err := nebis.New(db, c.Dialect, nil)
	if err == nil {
		_, err = store.Migrate(b.Context(), false)
	}
	if err != nil {
		b.Fatal(err)
	}
	conf, err := ReadFile(strings.NewReader("upstream: "+site+"\nowner: none\nforms: ['GET /checkout*']\nroutes: [{match: POST /pay}]\n"), "")
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	g, err := New(conf, Options{Log: log, Guard: Guard(store, conf, nil, log)})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// way is one way in which a request goes, and how long all of its turns took.
type way struct {
	name string
	send func()
}

const (
	turn    = 200 // requests
	clients = 8
)

// inTurns runs each way's turn after the other's; b.N counts the rounds.
func inTurns(b *testing.B, ways []way) {
	took := make([]time.Duration, len(ways))
	for b.Loop() {
		for i, w := range ways {
			begun := time.Now()
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range turn / clients {
						w.send()
					}
				})
			}
			all.Wait()
			took[i] += time.Since(begun)
		}
	}
	for i, w := range ways {
		b.ReportMetric(float64(b.N*turn)/took[i].Seconds(), w.name+"/s")
	}
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// sender sends requests, each with a key of its own where key is not empty.
func sender(method, key string) func(b *testing.B, url string) {
	var n atomic.Int64
	return func(b *testing.B, url string) {
		req, err := http.NewRequestWithContext(b.Context(), method, url, http.NoBody)
		if method == http.MethodPost {
			req, err = http.NewRequestWithContext(b.Context(), method, url, strings.NewReader("item=tea&amount=1"))
		}
		if err != nil {
			b.Error(err)
			return
		}
		if key != "" {
			req.Header.Set("Idempotency-Key", fmt.Sprint(key, n.Add(1)))
		}
		res, err := benchClient.Do(req)
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			b.Errorf("%s %s: %d", method, url, res.StatusCode)
		}
	}
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

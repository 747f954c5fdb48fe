package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// free finds an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// scrape returns what is at an address.
func scrape(t *testing.T, address string) (status int, text string) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if t.Failed() {
		t.Logf("in %s", text)
	}
}

func TestTheDemoServesItsNumbersElsewhere(t *testing.T) {
	addr := free(t)
	at := "http://" + addr + "/metrics"
	p := startWith(t, []string{"NEBIS_DB=sqlite:" + t.TempDir() + "/demo.db"}, "demo", "--addr", "127.0.0.1:0", "--metrics", addr)
	p.listening()
	for range 2 {
		p.order("one", `{"item":"tea","qty":1}`)
	}
	status, text := scrape(t, at)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	wantLines(t, text,
		`nebis_operations_total{outcome="ran",scope="order"} 1`,
		`nebis_operations_total{outcome="replayed-table",scope="order"} 1`,
		`nebis_table_rows{state="done",table="nebis_demo_idempotency"} 1`)
	for _, other := range []string{strings.TrimSuffix(at, "metrics"), strings.Replace(at, "metrics", "debug/pprof/", 1), p.base + "/metrics", p.base + "/debug/pprof/"} {
		if status, _ := scrape(t, other); status != http.StatusNotFound {
			t.Errorf("%s: %d", other, status)
		}
	}
	p.stop()
}

func TestTheDemoRefusesToServeItsNumbersToAll(t *testing.T) {
	for _, args := range [][]string{{"--metrics", ":0"}, {"--metrics", "0.0.0.0:0"}, {"--metrics", "nowhere"}} {
		code, _, stderr := call(t, nil, append([]string{"demo", "--addr", "127.0.0.1:0", "--db", "sqlite:" + t.TempDir() + "/demo.db"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, "--metrics") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}

// What passes through the gateway is counted by the scope of its route.
func TestTheGatewayServesItsNumbers(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pay":
			fmt.Fprint(w, "paid")
		case "/form":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<form method="post" action="/pay"><button>pay</button></form>`)
		case "/packed":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "unheard-of")
			fmt.Fprint(w, "?")
		case "/broken":
			panic(http.ErrAbortHandler)
		}
	}))
	defer site.Close()
	addr := free(t)
	file := conf(t, "upstream: "+site.URL+"\nmetrics: "+addr+"\nforms: [GET /form, GET /packed]\nroutes:\n- match: POST /pay\n  scope: pay\n")
	p := startWith(t, nil, "gateway", "--config", file, "--addr", "127.0.0.1:0", "--db", "sqlite:"+t.TempDir()+"/keys.db")
	p.listening()
	for range 2 {
		if res, err := http.PostForm(p.base+"/pay", url.Values{"idempotency_key": {"secret-key"}}); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
	}
	for _, path := range []string{"/form", "/packed", "/broken", "/.nebis/healthz"} {
		scrape(t, p.base+path)
	}
	_, text := scrape(t, "http://"+addr+"/metrics")
	wantLines(t, text,
		`nebis_operations_total{outcome="ran",scope="pay"} 1`,
		`nebis_operations_total{outcome="replayed-table",scope="pay"} 1`,
		`nebis_table_rows{state="done",table="idempotency"} 1`,
		`nebis_gateway_requests_total{code="2xx",route="pay"} 2`,
		`nebis_gateway_requests_total{code="2xx",route="(none)"} 2`,
		`nebis_gateway_requests_total{code="5xx",route="(none)"} 1`,
		`nebis_gateway_request_seconds_count{route="pay"} 2`,
		`nebis_gateway_forms_total 1`,
		`nebis_gateway_pages_left_total 1`,
		`nebis_gateway_site_failures_total 1`)
	if strings.Contains(text, "secret-key") {
		t.Error("a key is told")
	}
	if _, body := scrape(t, p.base+"/metrics"); strings.Contains(body, "nebis_") {
		t.Error("the visitors' address serves the numbers")
	}
	p.stop()
}

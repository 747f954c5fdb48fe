package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// rig is a site with a gateway in front, on real connections.
type rig struct {
	t    *testing.T
	url  string
	g    *Gateway
	log  *lines
	stop context.CancelFunc
	done chan error
}

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// front starts a gateway; conf is the rest of its file.
func front(t *testing.T, site http.Handler, conf string, o Options) *rig {
	t.Helper()
	up := httptest.NewServer(site)
	t.Cleanup(up.Close)
	return frontOf(t, up.URL, conf, o)
}

func frontOf(t *testing.T, upstream, conf string, o Options) *rig {
	t.Helper()
	c := read(t, "upstream: "+upstream+"\n"+conf)
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, log: &lines{}, done: make(chan error, 1)}
	o.Log = slog.New(slog.NewTextHandler(r.log, nil))
	var err error
	if r.g, err = New(c, o); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + ln.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- r.g.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		<-r.done
	})
	return r
}

// reply is an answer, read to its end.
type reply struct {
	*http.Response
	body string
}

// send sends a request, with headers as "Name: value" lines.
func (r *rig) send(method, path, body string, headers ...string) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	// The transport would ask for gzip by itself.
	req.Header.Set("Accept-Encoding", "identity")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Host":
			req.Host = value
		case "Accept-Encoding":
			req.Header.Set(name, value)
		default:
			req.Header[name] = append(req.Header[name], value)
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{res, string(text)}
}

func (r *rig) get(path string, headers ...string) reply {
	r.t.Helper()
	return r.send(http.MethodGet, path, "", headers...)
}

// pass is a guard that lets everything through, with a key: what the site gets of
// a protected write can be seen without a database.
func pass(key string) func(*Route) (func(http.Handler) http.Handler, error) {
	return func(*Route) (func(http.Handler) http.Handler, error) {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r.WithContext(WithKey(r.Context(), key)))
			})
		}, nil
	}
}

// echo answers with the request that it has got.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Host+"\n")
	_ = r.Header.Write(w)
	_, _ = w.Write(body)
}

package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// keyUpstream is how the site gets the key. Under its own name Go's transport
// would take it for leave to send the request twice.
const keyUpstream = "X-Nebis-Key"

// keyHeaders are those that Go's transport looks at.
var keyHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// rewrite makes the request that the site gets. Host and query stay as they came:
// the query may be in GBK, or have something that Go does not take for a query.
func (g *Gateway) rewrite(p *httputil.ProxyRequest, upstream *url.URL) {
	p.SetURL(upstream)
	p.Out.Host = p.In.Host
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.GetBody = nil // nobody may send it again
	g.forwarded(p)
	c := callOf(p.In.Context())
	if c.route != nil {
		renameKey(p)
	}
	if c.page && g.o.Observe == nil {
		askForPage(p.Out.Header)
	}
}

// renameKey passes the key on under the name that is safe.
func renameKey(p *httputil.ProxyRequest) {
	for _, name := range keyHeaders {
		p.Out.Header.Del(name)
	}
	if key := keyIn(p.In.Context()); key != "" {
		p.Out.Header.Set(keyUpstream, key)
	}
}

// transports sends requests to the site.
type transports struct{ shared, fresh http.RoundTripper }

// idle is how long a connection is kept for the next request: less than the 5 s
// after which Apache and Node close it, so that no request is lost to that.
const idle = 4 * time.Second

func newTransports() *transports {
	shared := &http.Transport{
		// No proxy from the environment: the site is here.
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idle,
		MaxIdleConnsPerHost:   256,
		DisableCompression:    true, // bodies pass as they are
	}
	fresh := shared.Clone()
	fresh.DisableKeepAlives = true
	return &transports{shared, fresh}
}

// RoundTrip sends a write that has a key on a connection of its own: only on one
// that was used before does Go's transport ever send a request twice, and only
// there does a site close just as the request arrives.
func (t *transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if keyIn(r.Context()) != "" || hasKey(r.Header) {
		return t.fresh.RoundTrip(r)
	}
	return t.shared.RoundTrip(r)
}

func hasKey(h http.Header) bool {
	for _, name := range keyHeaders {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// modify looks at the site's answer before it is sent.
func (g *Gateway) modify(res *http.Response) error {
	c := callOf(res.Request.Context())
	switch {
	case c.asks:
		bare(res)
	case c.page:
		return g.page(res, c)
	case c.route != nil && keyIn(res.Request.Context()) != "":
		if err := entire(res, c.route.MaxBody); err != nil {
			return err
		}
	}
	if mediaType(res.Header) == "text/event-stream" {
		res.Body = &endless{ReadCloser: res.Body, g: g}
		res.Body.(*endless).begin()
	}
	return nil
}

func mediaType(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// endless is a stream that would keep the gateway from stopping. It ends then as
// if the site had ended it; browsers connect again by themselves.
type endless struct {
	io.ReadCloser
	g    *Gateway
	done func() bool
}

func (e *endless) begin() {
	e.done = context.AfterFunc(e.g.stopping, func() { _ = e.ReadCloser.Close() })
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil && e.g.stopping.Err() != nil {
		err = io.EOF
	}
	return n, err
}

func (e *endless) Close() error {
	e.done()
	return e.ReadCloser.Close()
}

// buffers are used again for the next body.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}}
}

func (b *buffers) Get() []byte  { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

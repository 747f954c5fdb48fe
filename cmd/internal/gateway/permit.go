package gateway

import (
	"context"
	"maps"
	"net/http"
	"strings"
)

// permitted asks the site whether the sender of a write may do it, each time: what
// was allowed when the first answer was kept may not be by now. Any answer but one of
// 200 to 299 is the sender's, and nothing is done or replayed.
func (g *guarded) permitted(w http.ResponseWriter, r *http.Request) bool {
	if g.route.Permit == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.route.Deadline)
	defer cancel()
	c := callOf(ctx)
	page := c.page
	c.page, c.asks = false, true // a refusal is not the page that was asked for
	defer func() { c.page, c.asks = page, false }()
	a := &permission{w: w, header: http.Header{}}
	g.site.ServeHTTP(a, g.question(r.Clone(ctx)))
	c.no = !granted(a.status)
	return !c.no
}

// question makes of a write the question: of its header stays what is said of the
// sender. What Connection names goes no further than here, which the proxy sees to.
func (g *guarded) question(r *http.Request) *http.Request {
	r.Method, r.URL = http.MethodGet, g.route.Permit
	r.Body, r.ContentLength, r.TransferEncoding, r.Trailer = http.NoBody, 0, nil, nil
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "Content-") || strings.HasPrefix(name, "If-") || name == "Range" || name == "Expect" || name == "Upgrade"
	})
	return r
}

func granted(status int) bool { return status >= 200 && status < 300 }

// bare leaves of a yes the header: what follows may be long, or break off.
func bare(res *http.Response) {
	if granted(res.StatusCode) {
		_ = res.Body.Close()
		res.Body = http.NoBody
	}
}

// permission takes the site's answer: a refusal goes on to the sender.
type permission struct {
	w      http.ResponseWriter
	header http.Header
	status int
}

func (p *permission) Header() http.Header { return p.header }

func (p *permission) WriteHeader(status int) {
	if p.status != 0 || status < 200 { // 1xx announce an answer
		return
	}
	p.status = status
	if !granted(status) {
		maps.Copy(p.w.Header(), p.header)
		p.w.WriteHeader(status)
	}
}

func (p *permission) Write(b []byte) (int, error) { return p.w.Write(b) }

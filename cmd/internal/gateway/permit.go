package gateway

import (
	"maps"
	"net/http"
)

// permitted asks the site whether the sender of a write may do it, each time: what
// was allowed when the first answer was kept may not be by now. Any answer but one of
// 200 to 299 is the sender's, and nothing is done or replayed.
func (g *guarded) permitted(w http.ResponseWriter, r *http.Request) bool {
	if g.route.Permit == nil {
		return true
	}
	asked := r.Clone(r.Context())
	asked.Method, asked.URL = http.MethodGet, g.route.Permit
	asked.Body, asked.ContentLength, asked.TransferEncoding = http.NoBody, 0, nil
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Expect", "Upgrade", "Connection"} {
		asked.Header.Del(name)
	}
	c := callOf(r.Context())
	page := c.page
	c.page = false // a refusal is not the page that was asked for
	defer func() { c.page = page }()
	a := &permission{w: w, header: http.Header{}}
	g.site.ServeHTTP(a, asked)
	return a.granted()
}

// permission takes the site's answer: a refusal goes on to the sender.
type permission struct {
	w      http.ResponseWriter
	header http.Header
	status int
}

func (p *permission) granted() bool { return p.status >= 200 && p.status < 300 }

func (p *permission) Header() http.Header { return p.header }

func (p *permission) WriteHeader(status int) {
	if p.status != 0 || status < 200 { // 1xx announce an answer
		return
	}
	p.status = status
	if !p.granted() {
		maps.Copy(p.w.Header(), p.header)
		p.w.WriteHeader(status)
	}
}

func (p *permission) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if p.granted() {
		return len(b), nil
	}
	return p.w.Write(b)
}

package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// undecided is how much of a page is read before its header is sent: with a form
// among it, the page is not to be kept by anybody.
const undecided = 256 << 10

// askForPage makes the site answer in a way that can be read, and with the whole
// page: one that the browser has kept from before has no key.
func askForPage(h http.Header) {
	if takesGzip(h) {
		h.Set("Accept-Encoding", "gzip")
	} else {
		h.Set("Accept-Encoding", "identity")
	}
	if strings.Contains(h.Get("Accept"), "text/html") {
		h.Del("If-None-Match")
		h.Del("If-Modified-Since")
	}
}

func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		_, q, weighted := strings.Cut(strings.ReplaceAll(params, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		if name == "gzip" || name == "x-gzip" {
			return !weighted || err != nil || weight > 0
		}
	}
	return false
}

// page puts keys into the forms of an answer that is a page.
func (g *Gateway) page(res *http.Response, c *call) error {
	if !isPage(res) {
		return nil
	}
	if res.Request.Method == http.MethodHead {
		if g.o.Observe == nil {
			unkeep(res) // as it would be with a form
		}
		return nil
	}
	if g.o.Observe != nil {
		g.tell(res, c)
		return nil
	}
	raw := &spool{ReadCloser: res.Body}
	src, zipped, ok := decoded(raw, res.Header)
	if !ok {
		c.left = "encoding " + res.Header.Get("Content-Encoding")
		res.Body = raw.whole()
		return nil
	}
	in := newInjector(src, g.facts(res, c))
	if !in.begin(undecided) {
		res.Body = raw.whole() // nothing to change: the very bytes
		return nil
	}
	raw.stop()
	unkeep(res)
	g.greet(res, c)
	res.Body = &changed{in, raw, c}
	if zipped {
		recode(res, c)
	}
	return nil
}

func isPage(res *http.Response) bool {
	h := res.Header
	switch {
	case res.StatusCode < 200 || res.StatusCode >= 300 && res.StatusCode < 400:
		return false
	case res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusResetContent || res.StatusCode == http.StatusPartialContent:
		return false
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Disposition"))), "attachment"):
		return false
	}
	return mediaType(h) == "text/html" && isASCII(charsetIn(h.Get("Content-Type")))
}

func (g *Gateway) facts(res *http.Response, c *call) pageFacts {
	hosts := g.hosts(c.in)
	facts := pageFacts{hosts: hosts, policy: scriptPolicy{hosts: hosts}, script: !isFragment(c.in)}
	for _, line := range res.Header["Content-Security-Policy"] {
		facts.policy.add(line)
	}
	return facts
}

// isFragment: the answer goes into a page that is there already, and has the
// script.
func isFragment(r *http.Request) bool {
	return r.Header.Get("Hx-Request") != "" || strings.EqualFold(r.Header.Get("X-Requested-With"), "XMLHttpRequest")
}

// decoded is the page's text.
func decoded(raw io.Reader, h http.Header) (src io.Reader, zipped, ok bool) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ","))) {
	case "", "identity":
		return raw, false, true
	case "gzip", "x-gzip":
		zr, err := gzip.NewReader(raw)
		return zr, true, err == nil
	}
	return nil, false, false
}

// stale are headers that say something of the page as it was, or let somebody keep
// it.
var stale = []string{
	"Content-Length", "Etag", "Last-Modified", "Accept-Ranges", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest",
	"Age", "Expires", "Pragma", "Surrogate-Control", "Cdn-Cache-Control", "X-Accel-Expires",
}

// unkeep makes a page one person's own: a key must not be shown to two.
func unkeep(res *http.Response) {
	for _, name := range stale {
		res.Header.Del(name)
	}
	res.ContentLength = -1
	res.Header.Set("Cache-Control", "private, no-store")
}

// greet gives a new visitor a cookie.
func (g *Gateway) greet(res *http.Response, c *call) {
	if g.conf.Owner.IsVisitor() && len(g.o.Secret) > 0 && g.visitors.known(c.in) == "" {
		res.Header.Add("Set-Cookie", g.visitors.welcome(g.isSecure(c.in)).String())
	}
}

// recode encodes a page anew, for a client that takes it.
func recode(res *http.Response, c *call) {
	if !takesGzip(c.in.Header) {
		res.Header.Del("Content-Encoding")
		return
	}
	res.Body = newZipped(res.Body)
}

// changed is the body of a page with its insertions.
type changed struct {
	in *injector
	io.Closer
	c *call
}

func (b *changed) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.c.forms = b.in.inserted
	return n, err
}

// spool keeps what was read of a body, for the case that it is sent as it is.
type spool struct {
	io.ReadCloser
	kept    bytes.Buffer
	stopped bool
}

func (s *spool) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if !s.stopped {
		s.kept.Write(p[:n])
	}
	return n, err
}

func (s *spool) stop() { s.stopped, s.kept = true, bytes.Buffer{} }

// whole is the body from its beginning.
func (s *spool) whole() io.ReadCloser {
	s.stopped = true
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&s.kept, s.ReadCloser), s.ReadCloser}
}

// zipped encodes a body as it is read; what has come is not held back.
type zipped struct {
	src io.ReadCloser
	out bytes.Buffer
	zw  *gzip.Writer
	buf [bufferSize]byte
	err error
}

func newZipped(src io.ReadCloser) *zipped {
	z := &zipped{src: src}
	z.zw = gzip.NewWriter(&z.out)
	return z
}

func (z *zipped) Read(p []byte) (int, error) {
	for z.out.Len() == 0 && z.err == nil {
		n, err := z.src.Read(z.buf[:])
		_, _ = z.zw.Write(z.buf[:n]) // into memory
		switch err {
		case nil:
			_ = z.zw.Flush()
		case io.EOF:
			_ = z.zw.Close()
		}
		z.err = err
	}
	if z.out.Len() > 0 {
		return z.out.Read(p)
	}
	return 0, z.err
}

func (z *zipped) Close() error { return z.src.Close() }

package gateway

import (
	"io"
	"net/http"
)

// tell looks at a page on its way, and notes what would become of its forms. The
// page passes as it came.
func (g *Gateway) tell(res *http.Response, c *call) {
	page := foldPath(c.in.URL)
	copied, in := io.Pipe()
	header := res.Header.Clone()
	facts := g.facts(res, c)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _, _ = io.Copy(io.Discard, copied) }()
		src, _, ok := decoded(copied, header)
		if !ok {
			g.o.Observe.form(page, "cannot be read: "+header.Get("Content-Encoding"))
			return
		}
		dry := newInjector(src, facts)
		dry.dry, dry.seen = true, func(why string) { g.o.Observe.form(page, why) }
		_, _ = io.Copy(io.Discard, dry)
	}()
	res.Body = &told{res.Body, in, ended}
}

// told is a body that somebody else reads as well.
type told struct {
	io.ReadCloser
	copy  *io.PipeWriter
	ended chan struct{}
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	_, _ = t.copy.Write(p[:n]) // the other side reads to the end whatever it finds
	if err != nil {
		_ = t.copy.CloseWithError(err)
	}
	return n, err
}

func (t *told) Close() error {
	_ = t.copy.Close()
	<-t.ended
	return t.ReadCloser.Close()
}

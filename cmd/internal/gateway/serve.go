package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The server's patience. There is no limit on how long a request or its answer
// may take: uploads, downloads and streams pass through.
const (
	headerTimeout   = 10 * time.Second
	arrivalTimeout  = 5 * time.Second // as long as net/http waits for a connection that says nothing
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 90 * time.Second // what runs may end: a wait of 25 s and a deadline of 60 s
)

// Serve answers requests on ln until ctx ends. Then it takes no new ones,
// finishes those that run, and returns nil.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	a := newArrivals()
	srv := &http.Server{
		Handler:           a.handler(g),
		Protocols:         protocols(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(g.o.Log.Handler(), slog.LevelWarn),
		ConnContext:       a.context,
		ConnState:         a.state,
	}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(ln) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	g.stop()
	_ = ln.Close()
	if err := <-stopped; !errors.Is(err, net.ErrClosed) {
		g.o.Log.Warn("no more connections are taken", "error", err)
	}
	srv.SetKeepAlivesEnabled(false)
	a.wait(arrivalTimeout)
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(patience); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}

// protocols are HTTP/1 and, for a front that speaks it to what is behind it, HTTP/2
// without TLS.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

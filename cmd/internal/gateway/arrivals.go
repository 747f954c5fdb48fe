package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// arrivals are the connections whose request is still being read. net/http drops such
// a request without a word when it is shut down; a gateway waits for it first.
type arrivals struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	gone chan struct{} // closed when none is left; nil: nobody waits
}

func newArrivals() *arrivals { return &arrivals{open: map[net.Conn]bool{}} }

type arrivalKey struct{}

// context is the server's ConnContext.
func (*arrivals) context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, arrivalKey{}, c)
}

// state is the server's ConnState.
func (a *arrivals) state(c net.Conn, s http.ConnState) {
	a.set(c, s == http.StateNew || s == http.StateActive)
}

// handler takes a connection for served as soon as its request is.
func (a *arrivals) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(arrivalKey{}).(net.Conn); ok {
			a.set(c, false)
		}
		next.ServeHTTP(w, r)
	})
}

func (a *arrivals) set(c net.Conn, open bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if open {
		a.open[c] = true
		return
	}
	delete(a.open, c)
	if len(a.open) == 0 && a.gone != nil {
		close(a.gone)
		a.gone = nil
	}
}

// wait waits until no request is being read, for as long as reading one may take.
// Nothing may arrive any more.
func (a *arrivals) wait(most time.Duration) {
	a.mu.Lock()
	if len(a.open) == 0 {
		a.mu.Unlock()
		return
	}
	gone := make(chan struct{})
	a.gone = gone
	a.mu.Unlock()
	select {
	case <-gone:
	case <-time.After(most):
	}
}

package gatewaytest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Payment is the service that the shops have their orders paid by, in the middle
// of each.
type Payment struct {
	URL string

	t      testing.TB
	mu     sync.Mutex
	change *sync.Cond
	calls  int
	broken bool
	gate   chan struct{} // closed: it answers
}

// NewPayment starts one. It is closed at cleanup.
func NewPayment(t testing.TB) *Payment {
	p := &Payment{t: t, gate: make(chan struct{})}
	p.change = sync.NewCond(&p.mu)
	close(p.gate)
	srv := httptest.NewServer(p)
	p.URL = srv.URL
	t.Cleanup(srv.Close)
	t.Cleanup(p.Release)
	return p
}

// ServeHTTP answers one payment, when it may.
func (p *Payment) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	p.calls++
	n, gate := p.calls, p.gate
	p.change.Broadcast()
	p.mu.Unlock()
	<-gate
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		fmt.Fprint(w, "We are closed for maintenance.")
		return
	}
	fmt.Fprintf(w, `{"number": "receipt %d"}`, n)
}

// Hold makes every payment wait until Release.
func (p *Payment) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Release lets them go on.
func (p *Payment) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
	p.change.Broadcast()
}

// Break has the payments answered with what no shop understands; their code fails
// then, with the order written.
func (p *Payment) Break(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// Calls is how many payments were asked for: how often a shop was at work.
func (p *Payment) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Await waits until n payments have been asked for in all.
func (p *Payment) Await(n int) {
	defer context.AfterFunc(p.t.Context(), p.wake)()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.calls < n && p.t.Context().Err() == nil {
		p.change.Wait()
	}
}

// wake lets those that wait look whether the test has ended.
func (p *Payment) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change.Broadcast()
}

package outboxtests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A provider is the other side: it charges each key once, and books every request.
type provider struct {
	URL string

	mu       sync.Mutex
	charges  map[string]string // key to the order that it was charged for
	orders   map[string]int    // charges per order: two keys would be two
	requests map[string]int    // per order
	active   map[string]int    // per key
	overlaps int

	reached chan string // an order whose first answer is held back
	cut     map[string]bool
}

func newProvider(t *testing.T) *provider {
	p := &provider{
		charges: map[string]string{}, orders: map[string]int{}, requests: map[string]int{}, active: map[string]int{},
		reached: make(chan string), cut: map[string]bool{},
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p.URL = server.URL
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var o order
	key := r.Header.Get("X-Charge-Key")
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || key == "" {
		http.Error(w, "malformed", http.StatusBadRequest)
		return
	}
	first := p.enter(key, o)
	defer p.leave(key)
	switch {
	case o.Refuse:
		w.WriteHeader(http.StatusPaymentRequired)
		return
	case first && o.Stop == duringCall:
		p.reached <- o.Name
		<-r.Context().Done()
		return
	}
	select {
	case <-time.After(o.Takes):
	case <-r.Context().Done():
		return
	}
	if first && p.cuts(o.Name) {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, `{"charge": %q}`, key)
}

// enter charges, once for each key, and reports whether this is the order's first
// request.
func (p *provider) enter(key string, o order) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active[key]++; p.active[key] > 1 {
		p.overlaps++
	}
	if _, done := p.charges[key]; !done && !o.Refuse {
		p.charges[key] = o.Name
		p.orders[o.Name]++
	}
	p.requests[o.Name]++
	return p.requests[o.Name] == 1
}

func (p *provider) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[key]--
}

func (p *provider) cuts(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[name]
}

// seen returns what was charged and asked for an order.
func (p *provider) seen(name string) (charges, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders[name], p.requests[name]
}

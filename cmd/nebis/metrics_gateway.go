package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nebis-dev/nebis/cmd/internal/gateway"
)

// passing counts what passes through a gateway. Its routes, and so its labels, are
// those of the configuration.
type passing struct {
	requests           *prometheus.CounterVec
	took               *prometheus.HistogramVec
	forms, left, fails prometheus.Counter
}

// unprotected is the route of what is not protected.
const unprotected = "(none)"

// gatewayInstruments are those of a gateway: its keys', and what passes through.
func gatewayInstruments(c gateway.Config) (*instruments, *passing, error) {
	n, err := newInstruments()
	if err != nil {
		return nil, nil, err
	}
	p, err := newPassing(n, c)
	return n, p, err
}

func newPassing(n *instruments, c gateway.Config) (*passing, error) {
	p := &passing{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nebis_gateway_requests_total",
			Help: "Requests by the scope of their route, (none) where they are not protected, and by class of status: 2xx, 3xx, 4xx, 5xx."}, []string{"route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "nebis_gateway_request_seconds",
			Help: "From a request's headers to the end of its answer, by the scope of its route.", Buckets: prometheus.ExponentialBuckets(.001, 2.5, 13)}, []string{"route"}),
		forms: prometheus.NewCounter(prometheus.CounterOpts{Name: "nebis_gateway_forms_total", Help: "Forms that got a key."}),
		left:  prometheus.NewCounter(prometheus.CounterOpts{Name: "nebis_gateway_pages_left_total", Help: "Pages whose forms were to get a key and did not; the log says why."}),
		fails: prometheus.NewCounter(prometheus.CounterOpts{Name: "nebis_gateway_site_failures_total", Help: "Requests that the site did not answer."}),
	}
	for _, x := range []prometheus.Collector{p.requests, p.took, p.forms, p.left, p.fails} {
		if err := n.reg.Register(x); err != nil {
			return nil, err
		}
	}
	p.begin(unprotected)
	for i := range c.Routes {
		p.begin(c.Routes[i].Scope)
	}
	return p, nil
}

func (p *passing) begin(route string) {
	for class := 2; class <= 5; class++ {
		p.requests.WithLabelValues(route, code(100*class))
	}
	p.took.WithLabelValues(route)
}

func code(status int) string { return fmt.Sprintf("%dxx", status/100) }

func (p *passing) done(r gateway.Request) {
	route := r.Scope
	if route == "" {
		route = unprotected
	}
	p.requests.WithLabelValues(route, code(r.Status)).Inc()
	p.took.WithLabelValues(route).Observe(r.Took.Seconds())
	p.forms.Add(float64(r.Forms))
	if r.Left {
		p.left.Inc()
	}
	if r.Failed {
		p.fails.Inc()
	}
}

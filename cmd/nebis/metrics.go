package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/gateway"
	"github.com/nebis-dev/nebis/cmd/metrics"
)

// instruments are what --metrics serves. Without the flag they are counted all the same,
// and nobody can read them.
type instruments struct {
	*metrics.Metrics
	reg *prometheus.Registry
}

func newInstruments() (*instruments, error) {
	reg := prometheus.NewRegistry()
	m, err := metrics.New(reg, nil)
	if err != nil {
		return nil, err
	}
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &instruments{m, reg}, nil
}

// How long somebody may take to ask and to read.
const (
	scrapeAsk  = 5 * time.Second
	scrapeRead = 30 * time.Second
)

// serve answers GET /metrics at addr, on a listener of its own, until stop is called.
// Empty: nowhere.
func (n *instruments) serve(addr string, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	errorLog := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.reg, promhttp.HandlerOpts{ErrorLog: errorLog, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: scrapeAsk, ReadTimeout: scrapeAsk, WriteTimeout: scrapeRead, ErrorLog: errorLog}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the metrics are served no more", "err", err)
		}
	}()
	log.Info("metrics are served", "url", "http://"+reachable(ln.Addr())+"/metrics")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeAsk)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-ended
	}, nil
}

// metricsFlags say where.
type metricsFlags struct {
	addr   string
	public bool
}

func (f *metricsFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.addr, "metrics", "", "`address` at which Prometheus reads numbers, such as 127.0.0.1:9464 (default: nowhere)")
	cmd.Flags().BoolVar(&f.public, "metrics-public", false, "other machines may reach that address")
}

func (f *metricsFlags) check() error {
	if err := gateway.Metrics(f.addr, f.public); err != nil {
		return usagef("--metrics %q: %w", f.addr, err)
	}
	return nil
}

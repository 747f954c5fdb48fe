package shop

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The server's patience. An order may work for 10 seconds and wait for another
// 25, so nothing cuts an answer before that.
const (
	headerTimeout   = 10 * time.Second
	readTimeout     = 30 * time.Second
	answerTimeout   = 75 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = answerTimeout // what runs may end
)

// Serve answers requests on ln until ctx ends. Then it takes no new ones,
// finishes those that run, and returns nil.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(ln) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	// The requests under way have contexts of their own and go on.
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(patience); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}

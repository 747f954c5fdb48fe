package main

import (
	"context"
	"log/slog"

	"github.com/nebis-dev/nebis/hourly"
)

// counting writes the hourly counts until stop is called, which writes the last of
// them. Requests that run on after ctx has ended are counted as well. Without the
// table it says so once, and nothing is counted.
func counting(ctx context.Context, c *hourly.Counter, log *slog.Logger) (stop func()) {
	if err := c.Migrate(ctx); err != nil {
		log.Warn("no hourly counts for nebis check", "err", err)
		return func() {}
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Run(own); err != nil {
			log.Warn("the last hourly counts are lost", "err", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

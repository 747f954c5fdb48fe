// Package sweeper cleans the tables of a program while it runs, now and then.
package sweeper

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/nebis-dev/nebis"
)

// Every is how often where nothing is said.
const Every = 10 * time.Minute

// A Job cleans one table and returns how many rows it has removed.
type Job struct {
	Name  string
	Clean func(context.Context) (int, error)
}

// Keys is the job for the keys of a store. swept is told how each clean-up of this
// process has ended, other than by the end of the program.
func Keys(s *nebis.Store, swept func(rows int, err error)) Job {
	return Job{s.Table(), func(ctx context.Context) (int, error) {
		done, err := s.Sweep(ctx, nil)
		if errors.Is(err, nebis.ErrSweeping) {
			return 0, nil // another process is at it
		}
		if ctx.Err() == nil {
			swept(done.Rows, err)
		}
		return done.Rows, err
	}}
}

// Run does the jobs every so often until ctx ends; the first time somewhat
// earlier, so that programs that were started together do not meet.
func Run(ctx context.Context, every time.Duration, log *slog.Logger, jobs ...Job) {
	for next := every/10 + rand.N(every*9/10+1); wait(ctx, next); next = every*9/10 + rand.N(every/5+1) {
		for _, j := range jobs {
			begun := time.Now()
			n, err := j.Clean(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				log.Warn("cleaning failed, it is tried again later", "table", j.Name, "removed", n, "error", err)
			case n > 0:
				log.Info("cleaned", "table", j.Name, "removed", n, "took", time.Since(begun).Round(time.Millisecond))
			}
		}
	}
}

// wait reports whether d has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Beside runs Run beside a program, and returns what waits for its end; ctx has to
// end before.
func Beside(ctx context.Context, every time.Duration, log *slog.Logger, jobs ...Job) (end func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if every > 0 {
			Run(ctx, every, log, jobs...)
		}
	}()
	return func() { <-done }
}

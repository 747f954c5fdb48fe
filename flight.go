package nebis

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Duplicates in one process wait here, in memory and holding no connection,
// behind the one that runs.

type flightKey struct{ scope, owner, key string }

type flights struct {
	mu sync.Mutex
	m  map[flightKey]*flight
}

// A flight is one key under way. baton and done are made by the first waiter.
type flight struct {
	began   time.Time // when its leader began
	waiting int
	baton   chan struct{} // one token: who takes it leads on
	done    chan struct{} // closed when there is a row for everyone
	row     *row
}

// join makes the call the leader of its key (a flight, no row), or waits until
// the leader has a row for everyone (a row, no flight). A call that waited may
// become the leader because the one before it failed, or because its row is older
// than the call: another process may have replaced it since.
func (fs *flights) join(ctx context.Context, c *call) (*flight, *row, error) {
	for most := c.s.o.MaxWaiters; ; most = math.MaxInt { // who has waited is not turned away
		f, leads, err := fs.enter(c.key(), most)
		if leads || err != nil {
			return f, nil, err
		}
		leads, err = fs.await(ctx, f, c.left())
		switch {
		case leads:
			return f, nil, nil
		case err != nil:
			fs.giveUp(c.key(), f)
			return nil, nil, err
		case c.start.Before(f.row.at):
			return nil, f.row, nil
		}
	}
}

// await waits for the turn to lead, or for a row.
func (fs *flights) await(ctx context.Context, f *flight, wait time.Duration) (leads bool, err error) {
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-f.done:
		return false, nil
	case <-f.baton:
		fs.mu.Lock()
		f.waiting--
		f.began = time.Now()
		fs.mu.Unlock()
		return true, nil
	case <-timer.C:
		return false, ErrInProgress
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (fs *flights) enter(k flightKey, most int) (f *flight, leads bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.m[k]
	if f == nil {
		if fs.m == nil {
			fs.m = map[flightKey]*flight{}
		}
		f = &flight{began: time.Now()}
		fs.m[k] = f
		return f, true, nil
	}
	if f.waiting >= most {
		return nil, false, ErrInProgress
	}
	if f.done == nil {
		f.done, f.baton = make(chan struct{}), make(chan struct{}, 1)
	}
	f.waiting++
	return f, false, nil
}

// giveUp takes a waiter out. A baton that nobody is left to take ends the flight.
func (fs *flights) giveUp(k flightKey, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.waiting--
	if f.waiting > 0 || f.row != nil {
		return
	}
	select {
	case <-f.baton:
		delete(fs.m, k)
	default:
	}
}

// leave ends the leader's turn: with a row for all who wait, or with nil, and
// one of them goes on.
func (fs *flights) leave(k flightKey, f *flight, r *row) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch {
	case r != nil:
		f.row = r
		delete(fs.m, k)
		if f.done != nil {
			close(f.done)
		}
	case f.waiting == 0:
		delete(fs.m, k)
	default:
		f.baton <- struct{}{}
	}
}

// Running is an operation under way.
type Running struct {
	Scope   string
	For     time.Duration // since its call began, by the process's own clock
	Waiting int           // how many duplicates wait for it in this process
}

// Running returns what Do is doing for this Store in this process, and has been for
// longer than over: the oldest first. Other processes' is not in it. On SQLite,
// whose transactions nobody sees from outside, it is what tells that one is stuck.
func (s *Store) Running(over time.Duration) []Running {
	s.fs.mu.Lock()
	defer s.fs.mu.Unlock()
	var all []Running
	for k, f := range s.fs.m {
		if age := time.Since(f.began); age > over {
			all = append(all, Running{k.scope, age, f.waiting})
		}
	}
	slices.SortFunc(all, func(a, b Running) int { return cmp.Compare(b.For, a.For) })
	return all
}

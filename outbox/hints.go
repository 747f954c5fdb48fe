package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// hints are the calls that this process expects to be due soon: those that it
// added, which show when their transaction commits, and those that it will try
// again. They make a worker look early; a lost one costs no more than the wait
// for the next poll.
type hints struct {
	mu   sync.Mutex
	rows map[int64]hint
	news chan struct{} // closed when a hint comes
}

// A hint is looked for at next, and again after pauses that grow, because nobody
// tells whether its transaction has committed.
type hint struct {
	next  time.Time
	pause time.Duration
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = 10 * time.Second // after this one, about 30 s in all, it is forgotten
	laterPause = time.Second      // after a try that was to come has not
	mostHints  = 1000             // more are there only where no worker runs, or where every look finds something
)

func newHints() *hints {
	return &hints{rows: map[int64]hint{}, news: make(chan struct{})}
}

func (h *hints) added(id int64) { h.expect(id, hint{time.Now().Add(firstPause / 2), firstPause}) }

func (h *hints) retry(id int64, after time.Duration) {
	h.expect(id, hint{time.Now().Add(after), laterPause})
}

func (h *hints) expect(id int64, x hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.rows) >= mostHints {
		clear(h.rows)
	}
	h.rows[id] = x
	close(h.news)
	h.news = make(chan struct{})
}

// seen drops the hint for a call that a worker here has claimed.
func (h *hints) seen(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.rows, id)
}

// rest waits until the next look, which is for a hint, or for the poll.
func (h *hints) rest(ctx context.Context, poll time.Duration) {
	// Workers that started together do not poll together.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for until := time.Now().Add(poll*9/10 + rand.N(poll/5+1)); ; {
		next, news := h.next(until)
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-timer.C:
			h.looked(time.Now())
			return
		}
	}
}

// next is when to look, at the latest at until.
func (h *hints) next(until time.Time) (time.Time, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.rows {
		if x.next.Before(until) {
			until = x.next
		}
	}
	return until, h.news
}

// looked lets the pauses grow of what this look is for.
func (h *hints) looked(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, x := range h.rows {
		switch {
		case x.next.After(now.Add(firstPause / 2)):
		case x.pause > lastPause:
			delete(h.rows, id)
		default:
			h.rows[id] = hint{now.Add(x.pause), x.pause + x.pause/2}
		}
	}
}

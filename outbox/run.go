package outbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run is a worker: it makes the calls that are due, Options.Parallel at a time,
// until ctx ends; then it lets those under way finish and returns nil. Any number
// of processes may run, and each may run several.
//
// A call that this Outbox has added is looked for at once, at pauses that grow
// from 2 ms on until its transaction has committed or 30 s are over. Else an idle
// Run sends one statement per Options.Poll. Where the database is out of reach it
// goes on asking, and tells Options.Observe.
//
// It returns an error only where no call with a Do was given to [Outbox.Handle].
func (o *Outbox) Run(ctx context.Context) error {
	names := o.made()
	if len(names) == 0 {
		return errors.New("outbox: run: no call with a Do was given to Handle")
	}
	w := &worker{
		o: o, ctx: context.WithoutCancel(ctx), slots: make(chan struct{}, o.o.Parallel), names: names,
		lookFor: o.sql.final(listed(o.q.look, len(names))), takeFor: o.sql.final(listed(o.q.take, len(names))),
	}
	defer w.running.Wait()
	for failed := 0; ctx.Err() == nil; {
		n := w.reserve(ctx)
		if ctx.Err() != nil {
			w.free(n)
			break
		}
		more, err := w.take(n)
		switch {
		case err != nil:
			failed++
			o.tell(w.ctx, Event{Err: err})
			sleep(ctx, min(time.Duration(failed)*100*time.Millisecond, o.o.Poll))
		case !more:
			failed = 0
			o.hints.rest(ctx, o.o.Poll)
		}
	}
	return nil
}

// A worker is one Run.
type worker struct {
	o       *Outbox
	ctx     context.Context // of what is under way, which Run's end does not cut
	names   []any
	lookFor string // the statements with these names
	takeFor string
	slots   chan struct{}
	running sync.WaitGroup
}

// reserve takes all free slots, at least one, and returns how many. None: ctx has
// ended.
func (w *worker) reserve(ctx context.Context) int {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for n := 1; ; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n
		}
	}
}

func (w *worker) free(n int) {
	for range n {
		<-w.slots
	}
}

// take claims at most n calls and starts them. It reports whether there may be
// more that are due.
func (w *worker) take(n int) (more bool, err error) {
	begun := time.Now()
	token := newKey(32)
	jobs, more, err := w.claim(token, n)
	w.free(n - len(jobs))
	for _, j := range jobs {
		w.o.hints.seen(j.ID)
		w.running.Go(func() {
			defer w.free(1)
			w.serve(j, token, begun)
		})
	}
	return more, err
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

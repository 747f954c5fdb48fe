package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/sqltext"
)

// A tenure is the time during which a worker holds a call. Its context ends with
// the lease.
type tenure struct {
	o      *Outbox
	j      *Job
	c      Call
	token  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	over   *time.Timer
}

// newTenure begins the tenure of a call whose claim was sent at begun.
func (w *worker) newTenure(j *Job, token string, begun time.Time) *tenure {
	t := &tenure{o: w.o, j: j, token: token}
	t.c, _ = w.o.call(j.Name)
	t.ctx, t.cancel = context.WithCancelCause(w.ctx)
	left := time.Until(begun.Add(w.o.o.Lease))
	t.over = time.AfterFunc(left, func() { t.cancel(nebis.ErrLost) })
	if left <= 0 {
		t.cancel(nebis.ErrLost) // the claim's answer came too late: nothing begins
	}
	return t
}

func (t *tenure) close() {
	t.over.Stop()
	t.cancel(nebis.ErrLost)
}

var (
	errTimeout = errors.New("outbox: the try took longer than its Timeout")
	errExited  = errors.New("outbox: the function ended its goroutine")
)

// do runs f and keeps the lease alive until f returns or its time is up. A
// function that does not heed its context outlives its lease. A compensation has
// the one lease only: above READ COMMITTED, a lease that is extended beside its
// transaction would make it fail.
func (t *tenure) do(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(t.ctx, t.c.Timeout, errTimeout)
	halted := make(chan struct{})
	go func() {
		defer close(halted)
		if t.j.State != Compensating {
			t.extend(ctx)
		}
	}()
	err := context.Cause(ctx)
	if err == nil {
		err = guarded(func() error { return f(ctx) })
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
	}
	cancel()
	<-halted
	return err
}

// guarded turns a panic, and an end of the goroutine, into an error: a worker
// goes on to the next call.
func guarded(f func() error) (err error) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("outbox: panic: %v", p)
			}
		}()
		err = errExited
		if err = f(); err != nil {
			_ = err.Error() // a nil pointer of the caller's own type would panic later
		}
	}()
	<-returned
	return err
}

// extend extends the lease every third of it, sooner after an error.
func (t *tenure) extend(running context.Context) {
	length := t.o.o.Lease
	next := time.NewTimer(length / 3)
	defer next.Stop()
	for {
		select {
		case <-running.Done():
			return
		case <-next.C:
		}
		begun := time.Now()
		held, err := t.o.change(running, t.o.q.extend, length.Microseconds(), t.j.ID, t.token)
		switch {
		case err != nil:
			next.Reset(length / 10)
		case !held || !t.over.Reset(time.Until(begun.Add(length))):
			t.cancel(nebis.ErrLost) // somebody else has it, or it was over before the answer came
			return
		default:
			next.Reset(length / 3)
		}
	}
}

// An end is what becomes of a call after a try.
type end struct {
	state  State
	delay  sql.NullInt64 // until the next try, in microseconds
	text   string
	result sql.NullString
}

// plainFrom is after how many failed saves the result and the error are left out:
// a column may refuse them (a text that the database's charset does not know, a
// packet that is too long), and a call that is done would be made again.
const plainFrom = 5

// answered reports whether the database answers, and the call is still held.
func (t *tenure) answered(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	j, err := t.o.find(ctx, t.o.db, t.j.ID)
	return err == nil && j != nil && j.Held
}

// ascii is an error's text in characters that every charset has.
func ascii(err error) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, err.Error())
}

// save records the end of the tenure and returns the state that the call is in.
// nebis.ErrLost: somebody else has the call. It is sent again for as long as
// another lease: if nobody has taken the call by then, that saves a needless try.
func (t *tenure) save(e end) (State, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.o.o.Lease)
	defer cancel()
	for try := 1; ; try++ {
		state, err := t.saveOnce(ctx, e)
		if err == nil || errors.Is(err, nebis.ErrLost) {
			return state, err
		}
		switch {
		case ctx.Err() != nil:
			return t.j.State, fmt.Errorf("outbox: save: %w", err)
		case try == plainFrom && t.answered(ctx):
			e.result, e.text = sql.NullString{}, fmt.Sprintf("%s; what came with it cannot be saved: %s", e.state, ascii(err))
		}
		sleep(ctx, rand.N(min(time.Duration(try)*10*time.Millisecond, time.Second)))
	}
}

func (t *tenure) saveOnce(ctx context.Context, e end) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	saved, err := t.o.change(ctx, t.o.q.end, t.saving(e)...)
	if err != nil || saved {
		return e.state, err
	}
	// A save before, or the compensation, may have committed, and its answer been
	// lost. The numbers of tries tell whether anybody has had the call since.
	now, err := t.o.find(ctx, t.o.db, t.j.ID)
	switch {
	case err != nil:
		return t.j.State, err
	case now != nil && !now.Held && now.sameStep(t.j) && (now.State == e.state || now.State == Compensated):
		return now.State, nil
	}
	return t.j.State, nebis.ErrLost
}

func (t *tenure) saving(e end) []any {
	return []any{string(e.state), e.delay, t.o.sql.argument(sqltext.Error(e.text)), t.o.sql.argument(e.result), t.j.ID, t.token}
}

package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// A tenure is the time during which a call holds a lease. Its context ends with
// the lease.
type tenure struct {
	c      *call
	ctx    context.Context
	cancel context.CancelCauseFunc
	length time.Duration
	over   *time.Timer
}

// newTenure begins a tenure that was asked for at begun.
func (c *call) newTenure(ctx context.Context, begun time.Time, length time.Duration) *tenure {
	t := &tenure{c: c, length: length}
	t.ctx, t.cancel = context.WithCancelCause(c.holding(ctx, nil))
	t.over = time.AfterFunc(time.Until(begun.Add(length)), func() { t.cancel(ErrLost) })
	return t
}

// do runs f and keeps the lease alive until f returns. When f panics or exits,
// the outcome is recorded as unknown.
func (t *tenure) do(f func(context.Context) ([]byte, error)) (raw []byte, err error) {
	running, halt := context.WithCancel(t.ctx)
	returned, halted := false, make(chan struct{})
	go func() {
		defer close(halted)
		t.extend(running)
	}()
	defer func() {
		halt()
		<-halted
		if !returned {
			_ = t.unknown(errNoReturn)
		}
	}()
	raw, err = f(t.ctx)
	returned = true
	return raw, err
}

var errNoReturn = errors.New("nebis: the function did not return")

// extend extends the lease every third of it, sooner after an error, until the
// function has returned or the lease is over.
func (t *tenure) extend(running context.Context) {
	next := time.NewTimer(t.length / 3)
	defer next.Stop()
	op, stmt := t.c.op, t.c.s.eng.Load().lease.extend
	for {
		select {
		case <-running.Done():
			return
		case <-next.C:
		}
		begun := time.Now()
		n, err := t.c.updateOnce(running, stmt, []any{t.length.Microseconds(), op.Key, op.Scope, op.Owner, t.c.token})
		switch {
		case err != nil:
			next.Reset(t.length / 10)
		case n == 0 || !t.over.Reset(time.Until(begun.Add(t.length))):
			t.cancel(ErrLost) // somebody else has it, or it was over before the answer came
			return
		default:
			next.Reset(t.length / 3)
		}
	}
}

// end records how the tenure ended, with the status done, failed, or processing
// for an unknown outcome. ErrLost: the row has gone to someone else. ErrUnknown:
// the database could not be asked.
func (t *tenure) end(status string, raw []byte, text string) (*row, error) {
	t.over.Stop()
	t.cancel(ErrLost)
	c, e := t.c, t.c.s.eng.Load()
	r := &row{status: status, fingerprint: c.op.Fingerprint, token: c.token, at: time.Now()}
	if status == "done" && len(raw) <= c.op.MaxResponse {
		r.response = sql.NullString{String: string(raw), Valid: true}
	}
	until := sql.NullInt64{Valid: true} // over
	if status == "done" {
		until = c.op.seen()
	}
	ctx := context.WithoutCancel(t.ctx)
	n, err := c.update(ctx, e.lease.end, until, status, e.answer(r.response), e.answer(sqltext.Error(text)), c.op.Key, c.op.Scope, c.op.Owner, c.token)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if n == 1 {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.o.CommitWait)
	defer cancel()
	now, err := readRow(ctx, c.s.db, e.read, c.op)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	case now == nil || now.token != c.token || now.status != status:
		return nil, ErrLost
	}
	return r, nil
}

// unknown records that nobody knows what became of the operation, and returns
// the error that says so.
func (t *tenure) unknown(cause error) error {
	_, err := t.end("processing", nil, cause.Error())
	if errors.Is(err, ErrLost) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, cause)
}

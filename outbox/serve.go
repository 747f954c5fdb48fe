package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/nebis-dev/nebis"
)

// serve makes one try of a call, or of its compensation, and records its end.
func (w *worker) serve(j *Job, token string, begun time.Time) {
	t := w.newTenure(j, token, begun)
	defer t.close()
	event := Event{ID: j.ID, Name: j.Name, Tries: j.tries()}
	start := time.Now()
	var e end
	var err error
	if j.State == Compensating {
		e, err = t.compensate()
	} else {
		e, err = t.try()
	}
	event.Took, event.State, event.Err = time.Since(start), e.state, err
	if e.state != Compensated { // which is saved already, with its writes
		event.State, err = t.save(e)
		event.Err = errors.Join(event.Err, err)
	}
	if e.delay.Valid && err == nil {
		w.o.hints.retry(j.ID, time.Duration(e.delay.Int64)*time.Microsecond)
	}
	w.o.tell(w.ctx, event)
}

var errVanished = errors.New("outbox: the worker vanished during the last try; nobody knows whether it reached the other side")

// try makes the call.
func (t *tenure) try() (end, error) {
	if t.j.Attempts > t.c.Attempts {
		return t.failed(errVanished)
	}
	var result any
	err := t.do(func(ctx context.Context) (err error) {
		j := *t.j
		result, err = t.c.Do(ctx, &j)
		return err
	})
	if err != nil {
		return t.failed(err)
	}
	e := end{state: Done}
	e.result, e.text = t.kept(result)
	return e, nil
}

// failed says what becomes of a call after a try that failed. Where the last one
// was interrupted rather than answered, a compensation might undo what has
// happened: a person decides.
func (t *tenure) failed(err error) (end, error) {
	e := end{text: err.Error()}
	delay, again := t.c.again(t.j.Attempts, err)
	interrupted := errors.Is(err, errVanished) || errors.Is(err, nebis.ErrLost)
	switch {
	case again:
		e.state, e.delay = Failed, micros(delay)
	case t.c.Compensate != nil && !interrupted:
		e.state, e.delay = Compensating, micros(0)
	default:
		e.state = Dead
	}
	return e, err
}

func micros(d time.Duration) sql.NullInt64 {
	return sql.NullInt64{Int64: d.Microseconds(), Valid: true}
}

// kept is a result as it is kept, and if it cannot be, why. The call is done all
// the same.
func (t *tenure) kept(result any) (sql.NullString, string) {
	if result == nil {
		return sql.NullString{}, ""
	}
	var raw []byte
	err := guarded(func() (err error) { // it runs methods of the result's own
		raw, err = json.Marshal(result)
		return err
	})
	switch {
	case err != nil:
		return sql.NullString{}, "done; its result cannot be kept: " + err.Error()
	case len(raw) > t.o.o.MaxPayload || !utf8.Valid(raw):
		return sql.NullString{}, fmt.Sprintf("done; its result of %d bytes is not kept", len(raw))
	}
	return sql.NullString{String: string(raw), Valid: true}, ""
}

package nebishttp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/nebis-dev/nebis"
)

// grace is what a commit gets after the handler has used up its deadline.
const grace = 5 * time.Second

// serve answers one write in a transaction.
func (rt *route) serve(w http.ResponseWriter, r *http.Request, h handler) {
	q, owner, ok := rt.admit(w, r)
	switch {
	case !ok:
	case q.key == "":
		rt.plain(w, q, h)
	default:
		rt.once(w, q, owner, h)
	}
}

// admit reads a write; it answers itself when that is refused.
func (rt *route) admit(w http.ResponseWriter, r *http.Request) (q *request, owner string, ok bool) {
	if owner, ok = rt.who(w, r); !ok {
		return nil, "", false
	}
	q, err := rt.readRequest(w, r)
	if err == nil && q.key == "" && rt.Required {
		err = errKeyMissing
	}
	if err != nil {
		rt.m.problem(w, r, refusal(err).asNew(q))
	}
	return q, owner, err == nil
}

// who asks for the owner, before the body is read; it answers itself when there
// is none.
func (rt *route) who(w http.ResponseWriter, r *http.Request) (string, bool) {
	if TxFrom(r.Context()) != nil {
		rt.log(r, "nebishttp: this route is guarded twice; one Tx, Wrap or Lease around a handler is enough", nil)
		rt.m.problem(w, r, internal)
		return "", false
	}
	owner, err := rt.m.owner(r)
	if err != nil {
		rt.m.problem(w, r, unauthenticated)
		return "", false
	}
	if owner == "" {
		rt.log(r, "nebishttp: the owner function returned an empty owner; for nobody in particular it returns nebis.Anyone", nil)
		rt.m.problem(w, r, internal)
		return "", false
	}
	return owner, true
}

// refusal says what is wrong with a request that was not run.
func refusal(err error) Problem {
	if p := problemOf(err); p.name != internal.name {
		return p
	}
	return bodyUnreadable
}

// once runs the handler at most once for the key, and answers.
func (rt *route) once(w http.ResponseWriter, q *request, owner string, h handler) {
	ctx, cancel := rt.detach(q.r)
	defer cancel()
	x := &run{rt: rt, q: q, owner: owner, h: h, outer: w.Header().Clone()}
	ended := false
	defer func() {
		if !ended { // http.ErrAbortHandler: rolled back by now, and on its way out
			w.Header().Set(statusHeader, statusReleased)
		}
	}()
	rec, replayed, err := nebis.Do(ctx, rt.m.store, rt.op(q, owner),
		func(ctx context.Context, tx *sql.Tx) (record, error) {
			err := x.do(ctx, tx)
			return rt.newRecord(x.answer, x.outer), err
		})
	ended = true
	switch {
	case err != nil:
		x.failed(w, err)
	case replayed:
		rt.replay(w, q.r, rec)
	default:
		x.answer.send(w, statusCreated)
	}
}

// errLook: the operation was only looked for.
var errLook = errors.New("nebishttp: not to be run")

// first finds where the first result of the request's key is, whatever that
// asked for. The owner is the same.
func (rt *route) first(q *request, owner string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.r.Context()), grace)
	defer cancel()
	op := rt.op(q, owner)
	op.Fingerprint, op.Recheck, op.Wait = "", nil, -1
	rec, err := rt.look(ctx, op)
	if err != nil {
		return ""
	}
	return rec.header.Get("Location")
}

// look returns the stored answer of an operation, and runs nothing; errLook where
// there is none.
func (rt *route) look(ctx context.Context, op nebis.Op) (record, error) {
	rec, _, err := nebis.Do(ctx, rt.m.store, op, func(context.Context, *sql.Tx) (record, error) { return record{}, errLook })
	return rec, err
}

// plain runs the handler in a transaction that nothing remembers.
func (rt *route) plain(w http.ResponseWriter, q *request, h handler) {
	ctx, cancel := rt.detach(q.r)
	defer cancel()
	x := &run{rt: rt, q: q, h: h, outer: w.Header().Clone()}
	if err := rt.m.store.Tx(ctx, x.do); err != nil {
		x.failed(w, err)
		return
	}
	x.answer.send(w, "")
}

// detach returns a context that does not end with the client: who gave up will
// ask again, and should then find the answer.
func (rt *route) detach(r *http.Request) (context.Context, context.CancelFunc) {
	limit := max(rt.wait(r), 0) + rt.Deadline + grace
	if rt.Verify != nil {
		limit += rt.Deadline
	}
	return context.WithTimeout(context.WithoutCancel(r.Context()), limit)
}

// replay sends a stored answer.
func (rt *route) replay(w http.ResponseWriter, r *http.Request, rec record) {
	if !rec.kept {
		p := notKept
		p.Location = rec.header.Get("Location")
		rt.m.problem(w, r, p)
		return
	}
	w.Header().Set(replayedHeader, "true")
	rec.add(w, statusReplayed)
}

// run is one request's handler at work. The core may call it again when its
// transaction could not be kept; the last answer counts.
type run struct {
	rt     *route
	q      *request
	owner  string // with a key
	h      handler
	outer  http.Header // as the middlewares outside had set it
	answer answer
}

// rolledBack is what do returns to undo the transaction: because of the handler's
// error, or, when that is nil, because of the answer that it wrote.
type rolledBack struct{ err error }

func (e *rolledBack) Error() string {
	if e.err == nil {
		return "nebishttp: rolled back as the handler's answer asks"
	}
	return e.err.Error()
}

func (e *rolledBack) Unwrap() error { return e.err }

func (x *run) do(ctx context.Context, tx *sql.Tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, x.rt.Deadline)
	defer cancel()
	r := x.q.forHandler(ctx, tx)
	defer x.q.forget(r)
	rec := newRecorder(x.outer)
	if err := x.h(rec, r, tx); err != nil {
		return &rolledBack{err}
	}
	x.answer = rec.finish()
	if !x.rt.commits(rec, x.answer) {
		return &rolledBack{nil}
	}
	return nil
}

// A PanicError is the error of a handler that panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // of its goroutine
}

// Error has the value and the stack: it is for logs, not for clients.
func (e *PanicError) Error() string {
	return fmt.Sprintf("nebishttp: the handler panicked: %v\n%s", e.Value, e.Stack)
}

// panicked makes an error of a panic, since net/http would drop the connection,
// and browsers send a POST again by themselves when that happens. A handler that
// wants the connection dropped gets that.
func panicked(v any) error {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	return &rolledBack{&PanicError{v, debug.Stack()}}
}

// failed answers when nothing was committed, or nobody can tell.
func (x *run) failed(w http.ResponseWriter, err error) {
	var back *rolledBack
	switch {
	case !errors.As(err, &back) || errors.Is(err, nebis.ErrTxGone):
		x.trouble(w, err)
	case back.err == nil:
		x.answer.send(w, x.released())
	default:
		x.handlerError(w, back.err)
	}
}

func (x *run) released() string {
	if x.q.key == "" {
		return ""
	}
	return statusReleased
}

// handlerError has the handler's error rendered, into a writer that knows nothing
// of what the handler wrote.
func (x *run) handlerError(w http.ResponseWriter, err error) {
	r := x.q.forHandler(x.q.r.Context(), nil)
	defer x.q.forget(r)
	rec := newRecorder(x.outer)
	x.rt.m.renderError(rec, r, err)
	if !rec.written() {
		// An Options.Error that only logs must not turn into an empty 200.
		writeProblem(rec, r, internal)
	}
	rec.finish().send(w, x.released())
}

// trouble answers for the database's errors, not the handler's.
func (x *run) trouble(w http.ResponseWriter, err error) {
	p := problemOf(err)
	if p.name == internal.name {
		p = unavailable
	}
	if x.q.key == "" {
		p = x.keyless(err)
	}
	p = x.rt.leading(p, x.q, x.owner)
	if p.Status == http.StatusServiceUnavailable || p.name == unknown.name {
		x.rt.log(x.q.r, "nebishttp: "+p.Title, err)
	}
	x.rt.m.problem(w, x.q.r, p.asNew(x.q))
}

// keyless says what a failed transaction means where no key makes it safe to send
// the request again.
func (x *run) keyless(err error) Problem {
	ran := x.answer.status != 0
	if ran && !errors.Is(err, nebis.ErrNotCommitted) && !errors.Is(err, nebis.ErrBusy) {
		return unknown
	}
	return noDatabase
}

func (rt *route) log(r *http.Request, message string, err error) {
	args := []any{"scope", rt.scope, "method", r.Method, "path", r.URL.Path}
	if err != nil {
		args = append(args, "error", err)
	}
	rt.m.logger().ErrorContext(r.Context(), message, args...)
}

package nebishttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nebis-dev/nebis"
)

// Lease returns a middleware for handlers whose work leaves the database: a call
// to a payment service, a file, a request to another site. The handler runs once
// for each key within scope, in no transaction; its r.Context() outlives the
// client and ends with the lease or with Route.Deadline. See [nebis.Lease].
//
// What the handler answers with a status below 500 is stored and shown to every
// duplicate, a refusal too. [NotDone] says that nothing happened: the key is free
// again, and nothing else frees it. A status of 500 or more, [Discard] and a panic
// leave the outcome unknown: in place of what the handler wrote, this sender and
// every later one get the problem unknown, until Route.Verify or a person has found
// out. [Keep] stores such an answer nonetheless; Route.Commit and Route.NotDone say
// the same as rules.
//
// A handler may stream: its first Flush sends what there is. Such an answer says
// Idempotency-Replay: none, for a duplicate gets 410.
//
// A write without a key runs with no memory, as often as it is sent. route may be
// nil. Lease panics when scope or route is malformed.
func (m *Middleware) Lease(scope string, route *Route) func(http.Handler) http.Handler {
	rt := m.newRoute(scope, route)
	rt.large = rt.Stream
	if rt.Recheck != nil {
		panic(fmt.Sprintf("nebishttp: route %q: Recheck needs a transaction, which a lease has not", scope))
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !rt.guards(r.Method) {
				next.ServeHTTP(w, r)
			} else if q, owner, ok := rt.admit(w, r); ok {
				rt.lease(w, q, owner, next)
			}
		})
	}
}

var (
	// errReleased: nothing happened, as the handler's answer says.
	errReleased = errors.New("nebishttp: nothing happened, as the handler's answer says")

	// errPanicked is what the table gets of a panic, whose value may be anything.
	errPanicked = errors.New("nebishttp: the handler panicked")
)

// tenant is one request under a lease.
type tenant struct {
	rt   *route
	q    *request
	next http.Handler
	w    http.ResponseWriter // the client's
	live *live               // what the handler answers; nil until it runs
	bare bool                // it runs with no memory
}

// lease runs the handler at most once for the key, and answers.
func (rt *route) lease(w http.ResponseWriter, q *request, owner string, next http.Handler) {
	ctx, cancel := rt.detach(q.r)
	defer cancel()
	x := &tenant{rt: rt, q: q, next: next, w: w}
	if q.key == "" {
		x.unguarded(ctx)
		return
	}
	o := &nebis.LeaseOptions[record]{Length: rt.Lease}
	if rt.Verify != nil {
		o.Verify = x.verify
	}
	rec, _, err := nebis.Lease(ctx, rt.m.store, rt.op(q, owner), o, x.do)
	switch {
	case err == nil && x.live == nil: // a duplicate, or Verify has found out
		rt.replay(w, q.r, rec)
	case err == nil:
		x.live.send(statusCreated)
	case errors.Is(err, errReleased):
		x.live.send(statusReleased)
	case x.live != nil && x.live.verdict == keep && !errors.Is(err, nebis.ErrLost):
		// It has happened, and this is its answer; that it could not be written down
		// concerns those who ask later.
		rt.log(q.r, "nebishttp: the answer could not be stored", err)
		x.live.send(statusCreated)
	default:
		x.failed(ctx, err, owner)
	}
}

// do runs the handler under the lease.
func (x *tenant) do(ctx context.Context) (record, error) {
	x.live = x.newLive()
	err := x.call(ctx, x.live, x.handle)
	var panicked *PanicError
	switch {
	case errors.As(err, &panicked):
		x.rt.log(x.q.r, "nebishttp: handler failed", panicked)
		return record{}, errPanicked
	case err != nil:
		return record{}, err
	}
	return x.live.outcome()
}

// call calls f with the request as a handler gets it, and ends its answer.
func (x *tenant) call(ctx context.Context, l *live, f func(*http.Request) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
			if l.open { // what the client has got so far cannot be mended
				x.rt.log(x.q.r, "nebishttp: handler failed", err)
				panic(http.ErrAbortHandler)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, x.rt.Deadline)
	defer cancel()
	r := x.q.forHandler(ctx, nil)
	defer x.q.forget(r)
	if err := f(r); err != nil {
		return err
	}
	l.end()
	return nil
}

// verify asks Route.Verify, whose answer is stored if the work has happened.
func (x *tenant) verify(ctx context.Context) (verdict nebis.Verdict, rec record, err error) {
	l := x.newLive()
	err = x.call(ctx, l, func(r *http.Request) (err error) {
		verdict, err = x.rt.Verify(l.recorder, r)
		return err
	})
	if err != nil {
		return nebis.CannotTell, record{}, err
	}
	return verdict, x.rt.newRecord(l.answer, l.outer), nil
}

// failed answers when nothing was stored.
func (x *tenant) failed(ctx context.Context, err error, owner string) {
	p := x.problem(err, owner)
	away := p.Status == http.StatusServiceUnavailable
	switch {
	case away && x.rt.FailOpen:
		x.rt.log(x.q.r, "nebishttp: no key could be claimed; the handler runs without", err)
		x.unguarded(ctx)
		return
	case away, p.name == unknown.name:
		x.rt.log(x.q.r, "nebishttp: "+p.Title, err)
	}
	if x.live == nil || !x.live.open {
		x.rt.m.problem(x.w, x.q.r, p.asNew(x.q))
	}
}

// problem is what an error of the lease means to the client.
func (x *tenant) problem(err error, owner string) Problem {
	p := x.rt.leading(problemOf(err), x.q, owner)
	switch {
	case errors.Is(err, nebis.ErrUnknown), errors.Is(err, nebis.ErrLost), x.live != nil:
		p = unknown
		p.Look = x.rt.Look
		p.again = x.q.again() // on purpose, by a person who has looked
	case p.name == internal.name:
		p = unavailable
	}
	return p
}

// unguarded runs the handler with no memory.
func (x *tenant) unguarded(ctx context.Context) {
	x.live, x.bare = x.newLive(), true
	err := x.call(ctx, x.live, x.handle)
	if err == nil {
		x.live.send("")
		return
	}
	q := *x.q
	q.key = "" // what is answered has no status of a key
	(&run{rt: x.rt, q: &q, outer: x.live.outer}).failed(x.w, err)
}

func (x *tenant) handle(r *http.Request) error {
	x.next.ServeHTTP(x.live, r)
	return nil
}

package nebishttp

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

const (
	defaultLimit    = 1 << 20
	defaultDeadline = 30 * time.Second
	personWait      = 25 * time.Second
	programWait     = 2 * time.Second
	maxScope        = 64
)

// Route is what may differ from route to route. The zero value works.
type Route struct {
	// Required refuses a write without a key: 400. Without it such a write runs in
	// a plain transaction, as often as it is sent.
	Required bool

	// Keep is how long an answer is kept. Defaults to the Store's (24 hours).
	Keep time.Duration

	// KeepSeen is how long it is remembered that a key was used, where that is longer
	// than Keep: a late retry gets 410, not-kept, rather than run again. Defaults to
	// the Store's.
	KeepSeen time.Duration

	// Wait is how long a duplicate waits for the first to end; after that 409.
	// Negative: not at all. Defaults to 25 s for a form that a browser sent, whose
	// person sees only the answer to the last click, and to 2 s for a program. The
	// server's WriteTimeout must be longer.
	Wait time.Duration

	// Deadline is how long the handler may run. It is not cut short when the client
	// goes away. Defaults to 30 s.
	Deadline time.Duration

	// MaxRequest is the largest request body, in bytes; above it 413, before the
	// handler runs. Defaults to 1 MiB.
	MaxRequest int64

	// MaxAnswer is the largest body that is kept for replays, in bytes. The first
	// caller gets a larger one whole; a duplicate gets 410. Defaults to 1 MiB.
	MaxAnswer int

	// AnyMethod guards GET and the like too: for providers whose callbacks are GETs.
	AnyMethod bool

	// Ignore has the names of form fields, query parameters, and members of a JSON
	// object at the top, that may differ from one send to the next: a timestamp, a
	// captcha. Those of the usual CSRF tokens are known.
	Ignore []string

	// Headers has more headers of the answer that a replay repeats, beside the
	// usual ones (Location, Content-Type, Link, …). Set-Cookie, WWW-Authenticate,
	// Date and framing cannot be among them.
	Headers []string

	// Raw compares the request body byte by byte: for payloads that are signed.
	Raw bool

	// NoFingerprint compares nothing: for callbacks, whose times and signatures
	// differ from one attempt to the next. The key alone says what is the same.
	NoFingerprint bool

	// Commit decides, for a handler that returned nil, whether to commit and store.
	// Defaults to status 200 to 399. Keep and Discard go before it.
	Commit func(status int, header http.Header, body []byte) bool

	// Recheck looks at the business row before a stored answer is shown again, in a
	// transaction of its own. It returns true to replay, false to let the operation
	// run again (the order has been cancelled since). An error: 503. A stored
	// answer of which no body was kept is not asked about and never runs again.
	Recheck func(ctx context.Context, tx *sql.Tx, status int, header http.Header, body []byte) (replay bool, err error)

	// The rest is for leases ([Middleware.Lease]).

	// Lease is how long a holder that has gone silent keeps the key. Defaults to
	// 60 s.
	Lease time.Duration

	// Verify finds out whether an operation of unknown outcome has happened, by
	// asking the other side; r is the request of the one who asks now, and KeyOf its
	// key. Happened: what it writes to w is stored as the answer. DidNotHappen: the
	// handler runs. It has as long as the handler.
	Verify func(w http.ResponseWriter, r *http.Request) (nebis.Verdict, error)

	// NotDone decides, for an answer that has not said [NotDone] or [Keep], whether it
	// means that nothing happened: then the key is free again. It is asked before
	// Commit. Of an answer that is larger than MaxAnswer it may get only the
	// beginning, and so may Commit.
	NotDone func(status int, header http.Header, body []byte) bool

	// Look is the address of a page where a person can see what has been done, shown
	// beside an unknown outcome, and where an answer is not kept.
	Look string

	// FailOpen runs the handler without memory when the database is out of reach,
	// rather than answer 503: for routes where a duplicate is a lesser evil than a
	// refusal.
	FailOpen bool

	// Stream lets large bodies pass rather than hold or refuse them: of a request
	// above MaxRequest, its first MaxRequest bytes and its length are compared, and
	// its key is not looked for in the form; an answer above MaxAnswer is sent as it
	// comes.
	Stream bool
}

// route is a Route made ready.
type route struct {
	Route
	m      *Middleware
	scope  string
	large  bool // bodies pass: a lease, whose route says Stream
	digest fingerprinter
}

func (m *Middleware) newRoute(scope string, o *Route) *route {
	rt := &route{m: m, scope: scope}
	if o != nil {
		rt.Route = *o
	}
	rt.inherit(m.o.Route)
	rt.inherit(Route{Deadline: defaultDeadline, MaxRequest: defaultLimit, MaxAnswer: defaultLimit})
	rt.Headers = canonical(rt.Headers)
	rt.check()
	rt.digest = newFingerprinter(rt.Raw, rt.Ignore)
	return rt
}

// inherit takes what is not set from d.
func (r *Route) inherit(d Route) {
	r.Required = r.Required || d.Required
	r.Raw = r.Raw || d.Raw
	r.NoFingerprint = r.NoFingerprint || d.NoFingerprint
	r.FailOpen = r.FailOpen || d.FailOpen
	r.AnyMethod = r.AnyMethod || d.AnyMethod
	r.Stream = r.Stream || d.Stream
	set(&r.Keep, d.Keep)
	set(&r.KeepSeen, d.KeepSeen)
	set(&r.Wait, d.Wait)
	set(&r.Deadline, d.Deadline)
	set(&r.MaxRequest, d.MaxRequest)
	set(&r.MaxAnswer, d.MaxAnswer)
	set(&r.Lease, d.Lease)
	set(&r.Look, d.Look)
	r.Ignore = slices.Concat(r.Ignore, d.Ignore)
	r.Headers = slices.Concat(r.Headers, d.Headers)
	if r.Commit == nil {
		r.Commit = d.Commit
	}
	if r.Recheck == nil {
		r.Recheck = d.Recheck
	}
	if r.Verify == nil {
		r.Verify = d.Verify
	}
	if r.NotDone == nil {
		r.NotDone = d.NotDone
	}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func canonical(headers []string) []string {
	out := make([]string, len(headers))
	for i, name := range headers {
		out[i] = http.CanonicalHeaderKey(name)
	}
	return out
}

// longest is for ever, and can be added up.
const longest = 1000 * time.Hour

// check panics, as http.ServeMux does: a route is written by a programmer and
// read at start-up.
func (rt *route) check() {
	outside := func(c rune) bool { return c < '!' || c > '~' }
	if rt.scope == "" || len(rt.scope) > maxScope || strings.ContainsFunc(rt.scope, outside) {
		panic(fmt.Sprintf("nebishttp: scope %q is not 1 to %d characters ! to ~", rt.scope, maxScope))
	}
	rt.Wait, rt.Deadline = min(rt.Wait, longest), min(rt.Deadline, longest)
	if rt.Keep < 0 || rt.KeepSeen < 0 || rt.Deadline < 0 || rt.MaxRequest < 0 || rt.MaxAnswer < 0 {
		panic(fmt.Sprintf("nebishttp: route %q has a negative Keep, KeepSeen, Deadline, MaxRequest or MaxAnswer", rt.scope))
	}
	for _, name := range rt.Headers {
		if neverReplayed[name] {
			panic(fmt.Sprintf("nebishttp: route %q: header %s is never replayed", rt.scope, name))
		}
	}
}

// op describes the request to the core.
func (rt *route) op(q *request, owner string) nebis.Op {
	op := nebis.Op{
		Scope: rt.scope, Owner: owner, Key: q.key, Keep: rt.Keep, KeepSeen: rt.KeepSeen, Wait: rt.wait(q.r),
		MaxResponse: min(rt.MaxAnswer, math.MaxInt/4)/2*3 + 64<<10, // base64, or escaped text no longer than that, and headers
	}
	if !rt.NoFingerprint {
		op.Fingerprint = rt.digest.of(q)
	}
	if rt.Recheck != nil {
		op.Recheck = rt.recheck
	}
	return op
}

func (rt *route) wait(r *http.Request) time.Duration {
	switch {
	case rt.Wait != 0:
		return rt.Wait
	case isPerson(r):
		return personWait
	}
	return programWait
}

func (rt *route) recheck(ctx context.Context, tx *sql.Tx, response []byte) (replay bool, err error) {
	var rec record
	_ = json.Unmarshal(response, &rec) // what is no JSON leaves it not kept
	if !rec.kept {
		return true, nil // it was done: an answer that nobody can judge does not undo that
	}
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return rt.Recheck(ctx, tx, rec.status, rec.header, rec.body)
}

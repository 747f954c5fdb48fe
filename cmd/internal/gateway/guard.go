package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// Guard returns what lets each write through once for its key: it holds a lease on
// the key, in the store, while the site is at work. For [Options.Guard].
func Guard(store *nebis.Store, c Config, secret []byte, log *slog.Logger) func(*Route) (func(http.Handler) http.Handler, error) {
	m := nebishttp.New(store, c.Owner.Of(secret), &nebishttp.Options{Logger: log})
	return func(r *Route) (func(http.Handler) http.Handler, error) {
		upstream, err := c.UpstreamURL()
		if err != nil {
			return nil, err
		}
		lease := m.Lease(r.Scope, r.lease(newVerifier(r, upstream, log)))
		return func(site http.Handler) http.Handler {
			return &guarded{route: r, site: site, once: lease(&leased{r, site}), log: log}
		}, nil
	}
}

// lease is the route as nebishttp has it.
func (r *Route) lease(verify func(http.ResponseWriter, *http.Request) (nebis.Verdict, error)) *nebishttp.Route {
	wait := r.Wait
	switch {
	case wait == 0:
		wait = -1 // not at all
	case wait < 0 && r.Kind == ByRequest:
		wait = 0 // as nebishttp finds it for the request: a person longer than a program
	case wait < 0:
		wait = r.WaitFor(r.Kind)
	}
	return &nebishttp.Route{
		Required: r.Required, Keep: r.Keep, KeepSeen: r.KeepSeen, Wait: wait, Deadline: r.Deadline,
		MaxRequest: r.MaxBody, MaxAnswer: int(r.MaxBody), Stream: true,
		// The times and signatures of a callback differ from one attempt to the next.
		NoFingerprint: r.Kind == Callback,
		Commit:        r.holds, NotDone: r.refused, Verify: verify, Look: r.Look,
		FailOpen:  r.OnStoreError == Open,
		AnyMethod: true, // the pattern has said which
	}
}

// holds reports whether the site has done it.
func (r *Route) holds(status int, header http.Header, body []byte) bool {
	return r.canJudge(body) && r.Success.Holds(status, header, body)
}

// refused reports whether the site has not done it: its answer is whole, and not
// one of success. After a status of 500 or more nobody knows what it has done before
// it failed.
func (r *Route) refused(status int, header http.Header, body []byte) bool {
	if !r.canJudge(body) || r.Success.Holds(status, header, body) {
		return false
	}
	return status < 500 || r.OnUpstreamError == Free
}

// canJudge is false where the rule is about the body and there is only the
// beginning of it.
func (r *Route) canJudge(body []byte) bool {
	return int64(len(body)) <= r.MaxBody || r.Success.Body.text == "" && r.Success.JSON == nil
}

// guarded finds a write's key, and has it done once.
type guarded struct {
	route *Route
	site  http.Handler
	once  http.Handler
	log   *slog.Logger

	warned atomic.Int64 // when it was last told that a write had no key, in Unix seconds
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head, whole, err := peek(r, g.route.MaxBody)
	if err != nil {
		r.Body = broken{err}
		g.once.ServeHTTP(w, nebishttp.WithKey(r, "")) // which says so
		return
	}
	key, err := g.route.FindKey(r, head, whole)
	switch {
	case err != nil:
		nebishttp.WriteError(w, r, err)
	case key == "" && !g.route.Required:
		g.warn(r)
		g.site.ServeHTTP(w, r)
	case key == "" && g.route.readsField():
		g.once.ServeHTTP(w, r) // which refuses it, and offers a person to send it with a key
	case g.permitted(w, r):
		g.once.ServeHTTP(w, nebishttp.WithKey(r.WithContext(WithKey(r.Context(), key)), key))
	}
}

// warn tells, once a minute, that a write passes which nothing holds back: the pattern
// of its page may be missing under forms, or not fit.
func (g *guarded) warn(r *http.Request) {
	now, before := time.Now().Unix(), g.warned.Load()
	if now-before < 60 || !g.warned.CompareAndSwap(before, now) {
		return
	}
	page := "not told by the sender"
	if u, err := url.Parse(r.Referer()); err == nil && u.Path != "" {
		page = u.Path
	}
	g.log.Warn("a write to a protected route came without a key, and is not held back: is its page under forms?",
		"route", g.route.Match.String(), "page", page)
}

// readsField reports whether the key is looked for in the field that ours is in.
func (r *Route) readsField() bool {
	return slices.ContainsFunc(r.Key, func(k KeySource) bool {
		return k.Place == sourceForm && slices.Equal(k.Names, []string{keyField})
	})
}

// peek reads what a body begins with, up to limit bytes, and leaves the body as it
// was.
func peek(r *http.Request, limit int64) (head []byte, whole bool, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, true, nil
	}
	head, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, false, err
	}
	whole = int64(len(head)) <= limit
	body := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
	return head[:min(int64(len(head)), limit)], whole, nil
}

// broken is a body that could not be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return nil }

// leased sends a write to the site, under a lease.
type leased struct {
	route *Route
	site  http.Handler
}

var errBrokeOff = errors.New("the site's answer broke off")

func (l *leased) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler: // would drop the connection, and browsers then send again
			c.err = errBrokeOff
			panic(errBrokeOff)
		default:
			panic(v)
		}
	}()
	l.site.ServeHTTP(quiet{w}, r)
	switch {
	case c.err == nil:
	case neverSent(c.err), l.route.OnUpstreamError == Free:
		nebishttp.NotDone(w)
	default:
		nebishttp.Discard(w)
	}
}

// quiet lets only a stream of events flush: an answer without a length would be on
// its way, and not be kept, for the proxy's flushing it.
type quiet struct{ http.ResponseWriter }

// Flush implements [http.Flusher].
func (q quiet) Flush() {
	if mediaType(q.Header()) == "text/event-stream" {
		_ = http.NewResponseController(q.ResponseWriter).Flush()
	}
}

// entire reads an answer to a write that holds a key as far as it can be kept, so
// that one which breaks off is never taken for an answer.
func entire(res *http.Response, limit int64) error {
	if mediaType(res.Header) == "text/event-stream" || res.Body == http.NoBody {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		_ = res.Body.Close()
		return fmt.Errorf("%w: %w", errBrokeOff, err)
	}
	body := res.Body
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
	return nil
}

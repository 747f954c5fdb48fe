package figures

import (
	"context"
	"errors"
	"net/http"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/bounded"
	"github.com/nebis-dev/nebis/outbox"
)

// A Sink is where figures go. A counter is at zero from the moment that it is asked
// for: the first of its kind would not be seen to increase anything otherwise.
type Sink interface {
	Counter(f *Figure, labels ...string) Add
	Histogram(f *Figure, labels ...string) Record
}

// Add adds to a counter.
type Add func(ctx context.Context, n int)

// Record records seconds.
type Record func(ctx context.Context, seconds float64)

// Counts counts what a program tells. It is safe for use by many goroutines.
type Counts struct {
	scopes      *bounded.Map[*scope]
	calls       *bounded.Map[*call]
	providers   *bounded.Map[outcomes]
	unreachable Add
	swept       swept
}

// Most is how many scopes, names and providers are told apart where nothing is said.
const Most = 100

// NewCounts returns a Counts. Most is how many scopes, names of calls and providers
// are told apart, each; 0 is Most.
func NewCounts(s Sink, most int) (*Counts, error) {
	switch {
	case most < 0:
		return nil, errors.New("MaxScopes is negative")
	case most == 0:
		most = Most
	}
	c := &Counts{
		scopes:    bounded.New(most, func(label string) *scope { return newScope(s, label) }),
		calls:     bounded.New(most, func(label string) *call { return newCall(s, label) }),
		providers: bounded.New(most, func(label string) outcomes { return newProvider(s, label) }),
		swept:     newSwept(s),
	}
	// Without a name: sums are 0, not nothing, where there is no outbox and no callback.
	c.unreachable = newCall(s, "").ended[tryUnreachable]
	newProvider(s, "")
	return c, nil
}

// outcomes are the counters of one label.
type outcomes map[string]Add

func newOutcomes(s Sink, f *Figure, label string, names ...string) outcomes {
	o := outcomes{}
	for _, name := range names {
		o[name] = s.Counter(f, label, name)
	}
	return o
}

// inc counts one that is known. Another is a mistake of who calls, and not worth a
// panic in a program's business.
func (o outcomes) inc(ctx context.Context, outcome string) {
	if add := o[outcome]; add != nil {
		add(ctx, 1)
	}
}

var (
	operations = count("nebis.operations", "operation", "Operations that have ended, by scope and outcome: ran, took-over, replayed-memory, replayed-table, released, in-progress, mismatch, not-kept, unknown, lost, failed.", "scope", "outcome")
	repeated   = count("nebis.claims_repeated", "claim", "Claims that were sent again after a deadlock, a row that went away or a time-out.", "scope")
	waits      = times("nebis.operation.wait", "From the call to the start of the function, or to the end where it did not run.", "scope")
	runs       = times("nebis.operation.run", "Inside the function, where it ran.", "scope")
)

// A scope is what operations of it have done.
type scope struct {
	ended         outcomes
	repeated      Add
	waited, lasts Record
}

func newScope(s Sink, label string) *scope {
	var names []string
	for _, o := range nebis.Outcomes() {
		names = append(names, string(o))
	}
	return &scope{newOutcomes(s, operations, label, names...), s.Counter(repeated, label), s.Histogram(waits, label), s.Histogram(runs, label)}
}

// Observe counts one operation.
func (c *Counts) Observe(ctx context.Context, e nebis.Event) {
	s := c.scopes.Get(e.Scope)
	s.ended.inc(ctx, string(e.Outcome))
	if e.Reclaims > 0 {
		s.repeated(ctx, e.Reclaims)
	}
	s.waited(ctx, e.Waited.Seconds())
	if e.Ran > 0 {
		s.lasts(ctx, e.Ran.Seconds())
	}
}

var (
	tries    = count("nebis.outbox.tries", "try", "Tries of calls of the outbox, by name and by what the call is in then: done, failed, compensating, compensated, dead; or lost, unreachable.", "name", "outcome")
	tryTimes = times("nebis.outbox.try", "How long a try of a call took.", "name")
)

// Two ways of a try to have no result of its own.
const (
	tryLost        = "lost"        // another worker has the call, nothing was saved
	tryUnreachable = "unreachable" // the database could not be asked
)

// A call is what tries of one name have done.
type call struct {
	ended outcomes
	took  Record
}

func newCall(s Sink, label string) *call {
	return &call{newOutcomes(s, tries, label, string(outbox.Done), string(outbox.Failed), string(outbox.Compensating),
		string(outbox.Compensated), string(outbox.Dead), tryLost, tryUnreachable), s.Histogram(tryTimes, label)}
}

// ObserveOutbox counts one try.
func (c *Counts) ObserveOutbox(ctx context.Context, e outbox.Event) {
	if e.ID == 0 {
		c.unreachable(ctx, 1)
		return
	}
	n, outcome := c.calls.Get(e.Name), string(e.State)
	if errors.Is(e.Err, nebis.ErrLost) {
		outcome = tryLost
	}
	n.ended.inc(ctx, outcome)
	n.took(ctx, e.Took.Seconds())
}

var answers = count("nebis.callback.answers", "answer", "Answers to providers' callbacks, by provider and outcome: acknowledged, refused (malformed, or a signature that does not hold), busy, failed.", "provider", "outcome")

// What a provider was told.
const (
	acknowledged = "acknowledged"
	refused      = "refused" // malformed, or its signature does not hold
	busy         = "busy"    // under way, or the database is away: it sends again
	failed       = "failed"  // the function has failed: it sends again
)

func newProvider(s Sink, label string) outcomes {
	return newOutcomes(s, answers, label, acknowledged, refused, busy, failed)
}

// Callback counts what a handler of package callback answers.
func (c *Counts) Callback(provider string, h http.Handler) http.Handler {
	counted := c.providers.Get(provider)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &status{ResponseWriter: w, code: http.StatusOK}
		h.ServeHTTP(s, r)
		counted.inc(r.Context(), answered(s.code))
	})
}

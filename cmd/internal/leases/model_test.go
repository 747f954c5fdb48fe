package leases

import (
	"fmt"

	"github.com/nebis-dev/nebis"
)

// A state is what the model has of the key.
type state struct {
	status   string // "" none, held, unknown, done, free
	holder   int    // the claim whose token the row has; 0: a person's
	answer   string
	attempts int
	old      bool // its keep time is over
}

// An action is one step of a history.
type action struct {
	kind   string
	n      int    // of the claim that it makes or ends
	verify bool   // claim: with Verify
	how    string // end: done, free, unknown; resolve: done, free
	answer string
	strict bool // nothing else goes on: no step may be refused for somebody's lock
}

func (a action) String() string {
	s := a.kind
	if a.n > 0 {
		s += fmt.Sprint(" ", a.n)
	}
	if a.verify {
		s += " with Verify"
	}
	for _, more := range []string{a.how, a.answer} {
		if more != "" {
			s += " " + more
		}
	}
	return s
}

// An outcome is how a step ended.
type outcome struct {
	is     string
	answer string   // of a replay
	seen   lookedAt // of a look
}

type lookedAt struct {
	state    nebis.State
	answer   string
	attempts int
}

// How a step may end. refused: by somebody's lock or lease; nothing was changed.
const (
	ok        = "ok"
	held      = "held"      // the function runs
	verifying = "verifying" // Verify runs
	replayed  = "replayed"
	refused   = "refused"
	unknown   = "unknown"
	lost      = "lost"
	not       = "not in that state"
)

// open reports whether a claim runs the function.
func (s state) open() bool {
	return s.status == "" || s.status == "free" || s.status == "done" && s.old
}

// claimed is the state after a claim of an open key.
func (s state) claimed(n int) state {
	next := state{status: "held", holder: n, attempts: 1}
	if s.status == "free" {
		next.attempts = s.attempts + 1
	}
	return next
}

// next is what the model makes of a step: whether it may end so, and the state
// after it.
func (s state) next(a action, o outcome) (bool, state) {
	if o.is == refused && !a.strict {
		return true, s
	}
	switch a.kind {
	case "claim", "do":
		return s.claim(a, o)
	case "end":
		return s.end(a, o)
	case "resolve", "release":
		return s.decide(a, o)
	case "over":
		if s.status == "held" {
			s.status = "unknown"
		}
		return o.is == ok, s
	case "age":
		s.old = s.status != ""
		return o.is == ok, s
	case "purge":
		if gone := s.old && (s.status == "done" || s.status == "free"); gone && (o.is == "1" || a.strict) {
			return o.is == "1", state{}
		}
		return o.is == "0", s
	}
	return o.is == ok && o.seen == s.seen(), s // look
}

func (s state) claim(a action, o outcome) (bool, state) {
	switch {
	case s.open() && a.kind == "do":
		next := s.claimed(a.n)
		next.status, next.answer = "done", a.answer
		return o.is == ok, next
	case s.open():
		return o.is == held, s.claimed(a.n)
	case s.status == "done":
		return o.is == replayed && o.answer == s.answer, s
	case s.status == "held":
		return o.is == refused, s
	case a.verify:
		s.status, s.holder, s.attempts = "held", a.n, s.attempts+1
		return o.is == verifying, s
	}
	return o.is == unknown, s
}

// end is the holder's save: only with its own token.
func (s state) end(a action, o outcome) (bool, state) {
	if s.holder != a.n || s.status != "held" && s.status != "unknown" {
		return o.is == lost, s
	}
	s.status, s.answer = a.how, a.answer
	return o.is == ok, s
}

func (s state) decide(a action, o outcome) (bool, state) {
	acts := s.status == "unknown"
	if a.kind == "release" {
		acts = s.status == "done" && !s.old
	}
	switch {
	case acts:
		return o.is == ok, state{status: a.how, answer: a.answer, attempts: s.attempts}
	case s.status == "held":
		// Beside others, a row that has come and gone is not told from one that runs.
		return o.is == refused || o.is == not && !a.strict, s
	}
	return o.is == not, s
}

// seen is what Look tells.
func (s state) seen() lookedAt {
	states := map[string]nebis.State{"held": nebis.StateInProgress, "unknown": nebis.StateUnknown, "done": nebis.StateDone, "free": nebis.StateFree}
	v := lookedAt{states[s.status], s.answer, s.attempts}
	if s.status == "done" && s.old {
		v.state = nebis.StateExpired
	}
	return v
}

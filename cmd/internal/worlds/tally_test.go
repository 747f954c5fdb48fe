package worlds

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/nebis-dev/nebis"
)

// A tally counts what happened in the worlds, so that one can see that they
// were not idle.
type tally struct {
	mu     sync.Mutex
	worlds int
	calls  int
	runs   int
	n      map[string]int
}

func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int{}
	}
	t.n[what]++
}

func (t *tally) add(w *world) {
	t.worlds++
	for _, rec := range w.records {
		t.calls++
		t.runs += rec.runs
		switch {
		case rec.end == neverCalled:
			t.count("no transaction")
		case !rec.returned:
			t.count("panic or exit")
		case rec.err != nil:
			t.count("error: " + reason(rec.err))
		default:
			t.count(string(rec.events[0].Outcome))
		}
		for _, ev := range rec.events {
			if ev.Reclaims > 0 {
				t.count("claimed again")
			}
		}
	}
}

func (t *tally) String() string {
	var parts []string
	for what, n := range t.n {
		parts = append(parts, fmt.Sprintf("%s %d", what, n))
	}
	sort.Strings(parts)
	return fmt.Sprintf("%d worlds, %d calls, %d runs: %s", t.worlds, t.calls, t.runs, strings.Join(parts, ", "))
}

// reason is the kind of an error.
func reason(err error) string {
	var own *runError
	var kinds []string
	for _, k := range []struct {
		err  error
		name string
	}{
		{nebis.ErrInProgress, "in progress"}, {nebis.ErrBusy, "busy"}, {nebis.ErrMismatch, "mismatch"}, {nebis.ErrNotKept, "not kept"},
		{nebis.ErrNotCommitted, "not committed"}, {nebis.ErrUnknown, "unknown"}, {nebis.ErrTxGone, "transaction gone"},
		{errStopped, "cancelled"}, {errRecheck, "recheck"},
	} {
		if errors.Is(err, k.err) {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) > 0:
		return strings.Join(kinds, " + ")
	case errors.As(err, &own):
		return "the function's"
	}
	text := err.Error()
	return text[:min(len(text), 70)]
}

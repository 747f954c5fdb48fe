package worlds

import (
	"context"
	"errors"
	"fmt"

	"github.com/nebis-dev/nebis"
)

// An answer is what a function returns.
type answer struct {
	Run   string
	Key   int
	Parts int    // orders written
	Pad   string // makes it large
}

// A record is what became of one call.
type record struct {
	plan  *callPlan
	key   int
	name  string
	outer *run // the function that a DoTx was called from

	started, ended int64 // by the world's clock
	run            *run  // of the function, nil if it did not run
	runs           int   // how often it ran
	got            answer
	replayed       bool
	err            error
	returned       bool // else a panic or Goexit came out
	ctxDone        bool // its context had ended
	events         []nebis.Event
	broke          []string // what was wrong at once

	rechecked []answer // what Recheck was shown
	blind     bool     // Recheck could not look

	end txEnd // of the caller's transaction, for DoTx
}

// A txEnd is what became of the transaction around a DoTx.
type txEnd byte

const (
	rolledBack  txEnd = iota
	committed         // the COMMIT said so
	maybe             // the COMMIT failed
	neverCalled       // DoTx was not reached
)

// A run is one run of a function.
type run struct {
	id    string
	rec   *record
	asks  string
	began int64
	ended int64
	parts []part

	handed    byte // the step that ended the transaction by hand, if one did
	lost      bool // the transaction was lost to an error that was ignored
	lostTo    error
	cancelled bool // its context was done when it ended
	erred     bool // a statement failed
	result    answer
	returned  bool
}

// A part is one order row that a run wrote.
type part struct {
	id    string
	after bool // after the transaction had been ended by hand or lost
}

// disturbed: someone else may have had the key before the function ended.
func (r *run) disturbed() bool { return r.handed != 0 || r.lost || r.cancelled || r.erred }

// handCommitted reports whether the transaction was ended by a commit.
func (r *run) handCommitted() bool { return r.handed != 0 && r.handed != sqlBack && r.handed != txBack }

// A runError is an error that a function returned.
type runError struct {
	run *run
	err error
}

func (e *runError) Error() string { return fmt.Sprintf("function %s: %v", e.run.id, e.err) }
func (e *runError) Unwrap() error { return e.err }

var (
	errPlanned = errors.New("as planned")
	errStopped = errors.New("the caller has stopped waiting")
	errRecheck = errors.New("cannot tell whether the answer still holds")
)

// txGone reports whether the error of a DoTx says that the caller's transaction
// is gone, and not that of the function which ran first.
func txGone(err error) bool {
	return errors.Is(err, nebis.ErrTxGone) && !errors.Is(err, nebis.ErrUnknown)
}

// again reports whether the error asks for another call.
func (r *record) again() bool {
	switch {
	case errors.Is(r.err, nebis.ErrTxGone):
		return r.plan.tx && r.run == nil
	case errors.Is(r.err, nebis.ErrInProgress), errors.Is(r.err, nebis.ErrBusy), errors.Is(r.err, nebis.ErrNotCommitted):
		return true
	}
	return false
}

func (r *record) brokef(format string, args ...any) {
	r.broke = append(r.broke, fmt.Sprintf(format, args...))
}

// A fate says what has to be true of the orders of a run.
type fate byte

const (
	gone fate = iota
	stays
	either
)

// fate follows from what the caller was told: an error that is not ErrUnknown
// is a promise that nothing is there.
func (r *run) fate() fate {
	rec := r.rec
	told := stays
	switch {
	case errors.Is(rec.err, nebis.ErrUnknown):
		told = either
	case rec.err != nil || !rec.returned || rec.replayed:
		told = gone
	}
	switch {
	case r.handCommitted():
		return either
	case told == gone || rec.plan.tx && rec.end == rolledBack:
		return gone
	case rec.outer != nil:
		return rec.outer.fate()
	case rec.plan.tx && rec.end == maybe:
		return either
	}
	return told
}

type recordKey struct{}

// observe files an event with the call that it is about.
func observe(ctx context.Context, ev nebis.Event) {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.events = append(rec.events, ev)
	}
}

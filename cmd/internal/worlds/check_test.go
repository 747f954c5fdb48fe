package worlds

import (
	"errors"
	"strings"

	"github.com/nebis-dev/nebis"
)

// A judge looks at a world that has come to rest.
type judge struct {
	*world
	runs   map[string]*run
	orders map[string]order
	rows   map[string]keyRow // by scope, owner and key
}

// check compares what the callers were told with what the tables say.
func (w *world) check() {
	j := &judge{world: w, runs: map[string]*run{}}
	for _, rec := range w.records {
		if rec.run != nil {
			j.runs[rec.run.id] = rec.run
		}
	}
	if err := j.load(); err != nil {
		w.wrongf("%v", err)
		return
	}
	for _, rec := range w.records {
		j.record(rec)
	}
	j.allOrders()
	for key := range w.plan.keys {
		j.key(key)
	}
}

// record looks at one call.
func (j *judge) record(rec *record) {
	for _, s := range rec.broke {
		j.wrongf("call %s: %s", rec.name, s)
	}
	if rec.runs > 1 {
		j.wrongf("call %s ran its function %d times", rec.name, rec.runs)
	}
	j.event(rec)
	switch {
	case !rec.returned || rec.end == neverCalled:
	case rec.err != nil:
		if why := j.refused(rec); why != "" {
			j.wrongf("call %s (%s) got %v: %s", rec.name, rec.plan, rec.err, why)
		}
	case rec.replayed:
		j.replay(rec, rec.got)
	default:
		j.ran(rec)
	}
	for _, a := range rec.rechecked {
		if !j.plan.keys[rec.key].large {
			j.answer(rec, a, "Recheck was shown")
		}
	}
}

// ran looks at a success of the call's own function.
func (j *judge) ran(rec *record) {
	r := rec.run
	switch {
	case r == nil || rec.got != r.result:
		j.wrongf("call %s got %+v, which is not its function's result", rec.name, rec.got)
	default:
		j.whole(rec)
	}
}

// whole: a function that has not kept its transaction has no success.
func (j *judge) whole(rec *record) {
	switch r := rec.run; {
	case r.handed != 0:
		j.wrongf("call %s: success, although the function ended its transaction (%c)", rec.name, r.handed)
	case r.lost:
		j.wrongf("call %s: success, although the function lost its transaction by %v", rec.name, r.lostTo)
	}
}

func (j *judge) replay(rec *record, a answer) {
	if rec.run != nil {
		j.whole(rec)
		if !j.unsure(rec) {
			j.wrongf("call %s: a replay, although its function ran", rec.name)
		}
	}
	j.answer(rec, a, "replayed")
	if r := j.runs[a.Run]; r != nil && !sameAsk(rec.plan.asks, r.asks) {
		j.wrongf("call %s asked %s and got the answer to %s", rec.name, rec.plan.asks, r.asks)
	}
}

// answer looks at an answer of another call's.
func (j *judge) answer(rec *record, a answer, how string) {
	r := j.runs[a.Run]
	switch {
	case r == nil:
		j.wrongf("call %s: %s %+v, which nobody has made", rec.name, how, a)
	case r.rec.key != rec.key:
		j.wrongf("call %s of key %d: %s an answer for key %d", rec.name, rec.key, how, r.rec.key)
	case a != r.result:
		j.wrongf("call %s: %s %+v, first was %+v", rec.name, how, a, r.result)
	case rec.outer != nil && r.rec.outer == rec.outer: // from its own transaction
	case j.present(r) != len(r.parts):
		j.wrongf("call %s: %s %+v, but its orders are not there", rec.name, how, a)
	}
}

func sameAsk(a, b string) bool { return a == "" || b == "" || a == b || a[0] != b[0] }

// refused says why an error is not one that this call may get, or "".
func (j *judge) refused(rec *record) string {
	var own *runError
	err := rec.err
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case rec.ctxDone:
		return ""
	case errors.As(err, &own) && own.run != rec.run:
		return "the error of another call's function"
	case is(nebis.ErrTxGone):
		return j.txGone(rec)
	case own != nil, is(errRecheck) && (rec.plan.recheck == 'e' || rec.blind):
		return ""
	case is(nebis.ErrUnknown), is(nebis.ErrNotCommitted):
		return j.undecided(rec)
	case rec.run != nil && !j.unsure(rec):
		return "its function ran"
	case is(nebis.ErrMismatch):
		return j.mismatch(rec)
	case is(nebis.ErrNotKept) && j.plan.keys[rec.key].forgetful():
		return j.notKept(rec)
	case is(nebis.ErrInProgress), is(nebis.ErrBusy):
		return ""
	case rec.outer != nil && strings.Contains(err.Error(), "of the same key"):
		return ""
	}
	return "not an error that it may get"
}

// notKept: somebody must have done it.
func (j *judge) notKept(rec *record) string {
	for _, r := range j.runs {
		if r.rec.key == rec.key && (j.present(r) > 0 || rec.outer != nil && r.rec.outer == rec.outer) {
			return ""
		}
	}
	return "nobody has done it"
}

// txGone: the function ended or lost the transaction, or the first one did.
func (j *judge) txGone(rec *record) string {
	switch r := rec.run; {
	case r != nil && j.p.errorsAbort && j.serializable(rec.plan.store): // any statement may fail
		return ""
	case rec.plan.tx, r != nil && (r.handed != 0 || r.lost || r.erred):
		return ""
	case r != nil:
		return "its function did nothing to the transaction"
	case errors.Is(rec.err, nebis.ErrUnknown) && j.handed(rec.key):
		return ""
	}
	return "nobody has ended a transaction of this key by hand"
}

// handed reports whether a function has committed this key by hand.
func (j *judge) handed(key int) bool {
	for _, r := range j.runs {
		if r.rec.key == key && r.handCommitted() {
			return true
		}
	}
	return false
}

// undecided: a commit was given up because its time was over, or (at the
// strictest level of PostgreSQL) refused.
func (j *judge) undecided(rec *record) string {
	switch {
	case j.short(rec), rec.run != nil && (rec.run.handed != 0 || rec.run.lost):
		return ""
	case errors.Is(rec.err, nebis.ErrNotCommitted) && j.p.errorsAbort && j.serializable(rec.plan.store):
		return ""
	}
	return "nothing has happened to the database"
}

// unsure: the function ran and was to be committed, but the commit may have
// failed and the key gone to another call, from which the answer then comes.
func (j *judge) unsure(rec *record) bool {
	return j.short(rec) || j.p.errorsAbort && j.serializable(rec.plan.store)
}

// short: its store gives a commit little time, which a busy machine overdraws.
func (j *judge) short(rec *record) bool {
	return j.plan.stores[rec.plan.store].o.CommitWait > 0
}

func (j *judge) mismatch(rec *record) string {
	for _, r := range j.runs {
		if r.rec.key == rec.key && r.returned && !sameAsk(r.asks, rec.plan.asks) && j.present(r) > 0 {
			return ""
		}
	}
	return "nobody has done it with another fingerprint"
}

// event looks at what Observe was told.
func (j *judge) event(rec *record) {
	want := 1
	if rec.end == neverCalled {
		want = 0
	}
	if len(rec.events) != want {
		j.wrongf("call %s: %d events", rec.name, len(rec.events))
		return
	}
	if want == 1 && !outcomeFits(rec, rec.events[0].Outcome) {
		j.wrongf("call %s: outcome %s for replayed=%v, error %v", rec.name, rec.events[0].Outcome, rec.replayed, rec.err)
	}
}

func outcomeFits(rec *record, o nebis.Outcome) bool {
	switch {
	case !rec.returned:
		return o == nebis.Released
	case rec.err != nil:
		return o != nebis.Ran && o != nebis.TookOver && o != nebis.ReplayedMemory && o != nebis.ReplayedTable
	case rec.replayed:
		return o == nebis.ReplayedMemory || o == nebis.ReplayedTable
	}
	return o == nebis.Ran || o == nebis.TookOver
}

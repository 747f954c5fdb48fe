package nebishttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/nebis-dev/nebis"
)

// replayHeader says of an answer that it will not be replayed.
const replayHeader = "Idempotency-Replay"

// live is the ResponseWriter of a handler under a lease. It records, as the one
// inside a transaction does, until the answer has to be on its way: the handler
// flushes, or the body is too large to be kept and the route lets it pass. No
// transaction stands against that.
type live struct {
	*recorder
	x       *tenant
	outer   http.Header
	verdict string // keep, notDone, or "" for unknown; known when the answer ends or opens
	open    bool   // on its way to the client
}

func (x *tenant) newLive() *live {
	outer := x.w.Header().Clone()
	return &live{recorder: newRecorder(outer), x: x, outer: outer}
}

func (l *live) Write(p []byte) (int, error) {
	if l.open {
		_, _ = l.x.w.Write(p) // a client that has gone does not end the work
		return len(p), nil
	}
	n, err := l.recorder.Write(p)
	if limit := l.x.rt.MaxAnswer; l.x.rt.Stream && len(l.answer.body) > limit {
		l.spill(limit)
	}
	return n, err
}

func (l *live) WriteString(s string) (int, error) { return l.Write([]byte(s)) }

// Flush sends what there is, and from then on all that is written.
func (l *live) Flush() {
	l.WriteHeader(http.StatusOK)
	l.begin(l.judge())
	_ = http.NewResponseController(l.x.w).Flush()
}

// spill sends an answer that is too large to be kept. One that will not be shown,
// since the outcome is unknown, loses what goes beyond the limit.
func (l *live) spill(limit int) {
	if v := l.judge(); v != "" || l.x.bare {
		l.begin(v)
		return
	}
	l.answer.body = l.answer.body[:limit+1]
}

func (l *live) begin(verdict string) {
	if l.open {
		return
	}
	l.verdict = verdict
	a := l.recorder.begin()
	outcome := map[string]string{keep: statusCreated, notDone: statusReleased, "": statusUnknown}[verdict]
	if l.x.bare {
		outcome = ""
	} else if verdict == keep {
		a.header.Set(replayHeader, "none")
	}
	a.send(l.x.w, outcome)
	l.open = true
}

// end ends the answer.
func (l *live) end() {
	if !l.open {
		l.answer = l.finish()
		l.verdict = l.judge()
	}
}

// send sends what is not on its way.
func (l *live) send(outcome string) {
	if !l.open {
		l.answer.send(l.x.w, outcome)
	}
}

// judge says what the answer means.
func (l *live) judge() string {
	rt, a := l.x.rt, l.answer
	switch v := l.recorder.verdict(); {
	case v == keep, v == notDone:
		return v
	case v == discard:
		return ""
	case rt.NotDone != nil && rt.NotDone(a.status, a.header, a.body):
		return notDone
	case rt.Commit != nil && rt.Commit(a.status, a.header, a.body), rt.Commit == nil && a.status < 500:
		return keep
	}
	return ""
}

// errUnsure: the handler's answer does not say that its work was done.
var errUnsure = errors.New("nebishttp: the handler's answer leaves open whether the work was done")

// outcome is what the lease records.
func (l *live) outcome() (record, error) {
	switch l.verdict {
	case keep:
		if l.open {
			return unkept(l.answer), nil
		}
		return l.x.rt.newRecord(l.answer, l.outer), nil
	case notDone:
		return record{}, nebis.NotDone(errReleased)
	}
	return record{}, fmt.Errorf("%w (status %d)", errUnsure, l.answer.status)
}

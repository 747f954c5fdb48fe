package nebishttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/nebis-dev/nebis"
)

// outcomeNone: nobody has sent the key, or whoever sends it now has it run.
const outcomeNone = "none"

// outcome is what Outcome answers.
type outcome struct {
	Outcome  string `json:"outcome"`            // in-progress, done, unknown, none
	Status   int    `json:"status,omitempty"`   // of the stored answer
	Location string `json:"location,omitempty"` // of the result, where it is known
}

// Outcome returns a handler for GET that tells the owner of a key what became of
// it: for a page that has lost the answer, and for a program that must not send
// again blindly. The key is the query parameter key, else the header
// Idempotency-Key. The answer is JSON, 200:
//
//	{"outcome":"done","status":303,"location":"/orders/7"}
//
// with the outcome in-progress (and Retry-After), done, unknown or none. A
// handler behind [Middleware.Tx] or [Middleware.Wrap] that still runs is none:
// nothing of it is there before its commit. Nobody is told of another owner's key.
func (m *Middleware) Outcome(scope string) http.Handler {
	rt := m.newRoute(scope, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		owner, ok := rt.who(w, r)
		if !ok {
			return
		}
		told, err := rt.tell(r, owner)
		if err != nil {
			p := refusal(err)
			if p.name == bodyUnreadable.name {
				p = unavailable
			}
			if p.Status == http.StatusServiceUnavailable {
				rt.log(r, "nebishttp: "+p.Title, err)
			}
			m.problem(w, r, p)
			return
		}
		told.write(w)
	})
}

func (o outcome) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if o.Outcome == statusInProgress {
		h.Set("Retry-After", "1")
	}
	_ = json.NewEncoder(w).Encode(o)
}

// tell looks the key up.
func (rt *route) tell(r *http.Request, owner string) (outcome, error) {
	none := outcome{Outcome: outcomeNone}
	key := r.URL.Query().Get("key")
	if key != "" {
		r = WithKey(r, key)
	}
	key, err := findKey(r, nil)
	if err == nil && key == "" {
		err = errKeyMissing
	}
	if err != nil {
		return none, err
	}
	entry, err := rt.m.store.Look(r.Context(), rt.scope, owner, key)
	if err != nil || entry == nil {
		return none, err
	}
	switch entry.State {
	case nebis.StateInProgress:
		return outcome{Outcome: statusInProgress}, nil
	case nebis.StateUnknown:
		return outcome{Outcome: statusUnknown}, nil
	case nebis.StateDone:
		return rt.tellDone(r.Context(), owner, key)
	}
	return none, nil
}

// tellDone asks as a duplicate does: what it is told is on disk.
func (rt *route) tellDone(ctx context.Context, owner, key string) (outcome, error) {
	op := nebis.Op{Scope: rt.scope, Owner: owner, Key: key, Wait: -1}
	rec, err := rt.look(ctx, op)
	switch {
	case err == nil:
		return outcome{"done", rec.status, rec.header.Get("Location")}, nil
	case errors.Is(err, nebis.ErrNotKept):
		return outcome{Outcome: "done"}, nil
	case errors.Is(err, errLook):
		return outcome{Outcome: outcomeNone}, nil
	case errors.Is(err, nebis.ErrInProgress):
		return outcome{Outcome: statusInProgress}, nil
	}
	return outcome{}, err
}

package callback

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"github.com/nebis-dev/nebis"
)

// maxRuns is how often a delivery runs while it loses its transaction to others.
// After that the provider sends again, later than any pause of ours.
const maxRuns = 5

// once runs the function unless the delivery was done before, and returns what the
// first one was answered, or the status of the refusal with its error. A transaction
// that was lost to another one is begun anew: nothing of it happened.
func (h *handler) once(ctx context.Context, e Event) (Answer, int, error) {
	for n := 1; ; n++ {
		answer, replayed, failed, err := h.attempt(ctx, e)
		if n < maxRuns && lostToAnother(err) && pause(ctx, n) {
			h.o.Log.Info("callback: lost its transaction to another one, runs again", "provider", h.p.Name, "error", err)
			continue
		}
		switch {
		case failed == nil && errors.Is(err, nebis.ErrNotKept): // done, but the answer was too long, or has gone before the key
			return h.p.acknowledge(e), 0, nil
		case err == nil && !replayed:
			h.note(e, nil)
		case err != nil && failed != nil:
			h.note(e, failed)
		}
		if failed != nil || errors.Is(err, nebis.ErrKey) {
			return answer, http.StatusInternalServerError, err
		}
		return answer, http.StatusServiceUnavailable, err
	}
}

// attempt is one transaction. failed is the function's error, and not one of the
// database around it.
func (h *handler) attempt(ctx context.Context, e Event) (answer Answer, replayed bool, failed, err error) {
	op := nebis.Op{Scope: h.p.Name, Owner: owner(e.Account), Key: shaped(e.Delivery), Keep: h.o.Keep, Wait: h.o.Wait}
	answer, replayed, err = nebis.Do(ctx, h.store, op, func(ctx context.Context, tx *sql.Tx) (Answer, error) {
		if failed = h.run(ctx, tx, e); failed != nil {
			return Answer{}, failed
		}
		return h.p.acknowledge(e), nil
	})
	if failed == nil && errors.Is(err, nebis.ErrTxGone) {
		failed = err // it has ended its transaction by hand
	}
	return answer, replayed, failed, err
}

// lostToAnother reports whether the database has rolled a transaction back for the
// sake of another one, so that running again is both safe and of use. It is safe after
// each error of [nebis.Do] but ErrUnknown; of use only where the database says that
// two have met: an error of the function's own would come again.
func lostToAnother(err error) bool {
	if err == nil || errors.Is(err, nebis.ErrUnknown) {
		return false
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "40001" || state.SQLState() == "40P01"
	}
	return deadlock.MatchString(err.Error())
}

// MySQL and MariaDB: a row that has changed since the snapshot, a deadlock. A lock wait
// that was too long (1205) is neither: it has undone a statement only, after a minute.
var deadlock = regexp.MustCompile(`\bError (1020|1213)\b`)

// pause keeps two that have met from meeting again. False: there is no time left.
func pause(ctx context.Context, n int) bool {
	timer := time.NewTimer(rand.N(time.Duration(n) * 10 * time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

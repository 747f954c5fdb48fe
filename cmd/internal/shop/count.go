package shop

import (
	"database/sql"
	"fmt"
	"net/http"
	"path"
	"strconv"

	"github.com/nebis-dev/nebis/nebishttp"
)

// counted counts the requests to a handler, and which order each was answered
// with. It reads the answer and changes nothing.
func (s *Shop) counted(guarded bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.tally.arrived(guarded)
		s.recovered(next).ServeHTTP(w, r)
		id, err := strconv.ParseInt(path.Base(w.Header().Get("Location")), 10, 64)
		outcome := w.Header().Get("Idempotency-Status")
		if err == nil && (outcome == "" || outcome == "created" || outcome == "replayed") {
			s.tally.answered(id, guarded, outcome) // a mismatch names the first result, too
		}
	})
}

// attempt notes the attempts that fail, until one with the same key becomes an order:
// that one's page tells of them.
func (s *Shop) attempt(h func(http.ResponseWriter, *http.Request, *sql.Tx) error) func(http.ResponseWriter, *http.Request, *sql.Tx) error {
	return func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		key, err := nebishttp.KeyOf(r)
		if err != nil || key == "" {
			return h(w, r, tx)
		}
		key = visitorOf(r) + " " + key
		var id int64
		defer func() { // also when h panics
			if id == 0 {
				s.tally.attempted(key)
				return
			}
			s.tally.succeeded(key, id)
		}()
		err = h(w, r, tx)
		if made, bad := strconv.ParseInt(path.Base(w.Header().Get("Location")), 10, 64); err == nil && bad == nil {
			id = made
		}
		return err
	}
}

// recovered answers for a handler that panicked: by then its transaction has been
// rolled back and its key is free.
func (s *Shop) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.failed(w, r, fmt.Errorf("panic: %v", p))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

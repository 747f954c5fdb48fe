package shop

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
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

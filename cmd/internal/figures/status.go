package figures

import "net/http"

func answered(code int) string {
	switch {
	case code < http.StatusBadRequest:
		return acknowledged
	case code == http.StatusServiceUnavailable:
		return busy
	case code < http.StatusInternalServerError:
		return refused
	}
	return failed
}

// status remembers what is answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController see through it.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

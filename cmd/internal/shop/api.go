package shop

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// problem is an error answer for programs (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// The problems of the shop's own.
var (
	soldOut = problem{"urn:nebis-demo:sold-out", "Sold out", http.StatusConflict,
		"There are not enough pieces left. This answer is kept: the same key gets it again."}
	failed = problem{"urn:nebis-demo:failed", "Failed", http.StatusInternalServerError,
		"Nothing was written. The key is free: the same request may be sent again."}
	noOrder = problem{"urn:nebis-demo:not-found", "Not found", http.StatusNotFound,
		"There is no such order."}
)

// orderList is the answer of GET /api/orders.
type orderList struct {
	Orders []order `json:"orders"`
	Count  int     `json:"count"` // of all orders, however short the list is
}

// listAPI lists the orders, the newest first.
func (s *Shop) listAPI(w http.ResponseWriter, r *http.Request) {
	limit := -1
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			badRequest(w, &inputError{"limit", "bad_limit"})
			return
		}
		limit = n
	}
	list, err := s.newest(r.Context(), limit)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	answer := orderList{Orders: make([]order, len(list))}
	for i, rec := range list {
		answer.Orders[i] = rec.order
	}
	if answer.Count, err = s.count(r.Context()); err != nil {
		s.failed(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Shop) orderAPI(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		writeProblem(w, noOrder)
		return
	}
	switch rec, err := s.find(r.Context(), id); {
	case errors.Is(err, errNoOrder):
		writeProblem(w, noOrder)
	case err != nil:
		s.failed(w, r, err)
	default:
		writeJSON(w, http.StatusOK, rec.order)
	}
}

func badRequest(w http.ResponseWriter, err *inputError) {
	writeProblem(w, problem{"urn:nebis-demo:bad-request", "Bad request", http.StatusBadRequest, err.Error()})
}

func writeProblem(w http.ResponseWriter, p problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	writeBody(w, p.Status, p)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	writeBody(w, status, v)
}

func writeBody(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

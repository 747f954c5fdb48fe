package shop

import (
	"net/http"
	"strings"

	"github.com/nebis-dev/nebis/nebishttp"
)

// failed answers a request that ended in an error or a panic. What went wrong is
// for the log; the client is told what it means: nothing was written.
func (s *Shop) failed(w http.ResponseWriter, r *http.Request, err error) {
	s.log.Error("failed", "method", r.Method, "path", r.URL.Path, "err", err)
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		writeProblem(w, failed)
	case r.Method != http.MethodPost:
		s.message(w, r, http.StatusInternalServerError, "broken", "broken_say")
	case strings.HasPrefix(r.URL.Path, "/naive/"):
		s.message(w, r, http.StatusInternalServerError, "fail", "fail_naive")
	default:
		s.message(w, r, http.StatusInternalServerError, "fail", "fail_free")
	}
}

// answer gives an answer of Nebis's own the looks of the shop.
func (s *Shop) answer(w http.ResponseWriter, r *http.Request, p nebishttp.Problem) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("Content-Type", "application/problem+json")
		writeBody(w, p.Status, p)
		return
	}
	name := p.Outcome
	if _, ok := texts[name+"_title"]; !ok {
		name = "broken"
	}
	data := message{First: p.Location, Again: p.Again(w, r, say(langOf(r), "send_as_new"))}
	s.leadOn(w, r, p.Status, name, data, name+"_say")
}

// noSuchAPI answers for programs what noSuchPage answers for people.
func (s *Shop) noSuchAPI(w http.ResponseWriter, _ *http.Request) { writeProblem(w, noOrder) }

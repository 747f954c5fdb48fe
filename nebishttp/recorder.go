package nebishttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// answer is what is sent to a client: the handler's own, or one that was stored.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// recorder is the ResponseWriter of a handler inside a transaction. Nothing
// reaches the client before the commit: it has no Unwrap, by which an
// [http.ResponseController] would reach past it, and Flush does nothing.
type recorder struct {
	header http.Header // the handler's to change
	answer answer      // its header as it was when the status was written
}

// newRecorder starts from the header that the middlewares outside have set, as
// the handler would see it without us.
func newRecorder(outer http.Header) *recorder {
	header := outer.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &recorder{header: header}
}

func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader takes the first final status, as net/http does. Informational ones
// are dropped: nothing may leave before the commit.
func (rec *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		// net/http would panic as well, but only after the commit.
		panic(fmt.Sprintf("nebishttp: invalid WriteHeader code %d", status))
	}
	informational := status < 200 && status != http.StatusSwitchingProtocols
	if rec.written() || informational {
		return
	}
	rec.answer.status = status
	rec.answer.header = rec.header.Clone()
}

func (rec *recorder) Write(p []byte) (int, error) {
	rec.WriteHeader(http.StatusOK)
	if !bodyAllowed(rec.answer.status) {
		return 0, http.ErrBodyNotAllowed
	}
	rec.answer.body = append(rec.answer.body, p...)
	return len(p), nil
}

func (rec *recorder) WriteString(s string) (int, error) { return rec.Write([]byte(s)) }

// Flush does nothing: handlers that call it get their whole answer sent at the end.
func (rec *recorder) Flush() {}

func (rec *recorder) written() bool { return rec.answer.status != 0 }

// finish returns the answer as it goes out.
func (rec *recorder) finish() answer {
	a := rec.begin()
	a.fixLength()
	return a
}

// begin returns what there is of the answer.
func (rec *recorder) begin() answer {
	rec.WriteHeader(http.StatusOK)
	a := rec.answer
	for name := range a.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			delete(a.header, name)
		}
	}
	for _, name := range []string{"Trailer", "Transfer-Encoding", verdictKey} {
		delete(a.header, name)
	}
	return a
}

// fixLength corrects a length that the handler stated. One that it did not state
// is left to net/http: a middleware outside may encode the body.
func (a answer) fixLength() {
	if _, stated := a.header["Content-Length"]; !stated {
		return
	}
	if bodyAllowed(a.status) {
		a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	} else {
		a.header.Del("Content-Length")
	}
}

// send writes the answer of a handler, in place of what the header held.
func (a answer) send(w http.ResponseWriter, outcome string) {
	clear(w.Header())
	a.add(w, outcome)
}

// add writes a stored answer, beside what the middlewares outside have set.
func (a answer) add(w http.ResponseWriter, outcome string) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	if outcome != "" {
		header.Set(statusHeader, outcome)
	}
	w.WriteHeader(a.status)
	if len(a.body) > 0 {
		_, _ = w.Write(a.body) // a client that is gone asks again with its key
	}
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

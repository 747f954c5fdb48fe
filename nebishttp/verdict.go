package nebishttp

import "net/http"

// verdictKey carries Keep and Discard to the recorder, through any writer that
// others have wrapped around it. It is not a valid field name: no server sends it.
const verdictKey = "nebis verdict"

const (
	keep    = "keep"
	discard = "discard"
	notDone = "not done"
)

// Keep has the transaction committed and the answer stored although its status
// is an error: a refusal that a retry should see again (sold out). An error that
// the handler returns still rolls back. Of several calls of Keep and [Discard]
// the last one counts; after or before writing makes no difference. Behind
// [Middleware.Lease], where nothing can be rolled back, it stores an answer of any
// status.
func Keep(w http.ResponseWriter) { w.Header()[verdictKey] = []string{keep} }

// Discard has the transaction rolled back and the key freed although the status
// is not an error: for a redirect back to the form, and for APIs that answer 200
// with an error code in the body. The answer is sent all the same. Behind
// [Middleware.Lease] it leaves the outcome unknown; there it is [NotDone] that frees
// the key.
func Discard(w http.ResponseWriter) { w.Header()[verdictKey] = []string{discard} }

// NotDone says that the work of a handler behind [Middleware.Lease] did not
// happen, and never will: its answer is sent, and the key is free again. Call it
// before the answer is flushed. In a transaction it is [Discard].
func NotDone(w http.ResponseWriter) { w.Header()[verdictKey] = []string{notDone} }

// commits decides what becomes of the transaction of a handler that returned nil.
func (rt *route) commits(rec *recorder, a answer) bool {
	switch rec.verdict() {
	case keep:
		return true
	case discard, notDone:
		return false
	}
	if rt.Commit != nil {
		return rt.Commit(a.status, a.header, a.body)
	}
	return a.status >= 200 && a.status < 400
}

func (rec *recorder) verdict() string {
	if v := rec.header[verdictKey]; len(v) > 0 {
		return v[0]
	}
	return ""
}

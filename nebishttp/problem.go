package nebishttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/nebis-dev/nebis"
)

const (
	statusHeader   = "Idempotency-Status"
	replayedHeader = "Idempotent-Replayed"
)

// The values of Idempotency-Status.
const (
	statusCreated     = "created"
	statusReplayed    = "replayed"
	statusReleased    = "released"
	statusInProgress  = "in-progress"
	statusMismatch    = "mismatch"
	statusInvalid     = "invalid"
	statusNotKept     = "not-kept"
	statusUnknown     = "unknown"
	statusUnavailable = "unavailable"
)

// Problem is an answer of ours, as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type"` // urn:nebis:problem:…, or about:blank
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"` // English, for the client's programmer

	Outcome    string `json:"-"` // Idempotency-Status, "" for none
	RetryAfter int    `json:"-"` // seconds; 0: not to be sent again by a program
	Location   string `json:"-"` // of the result, where it is known
	Look       string `json:"-"` // Route.Look, where the outcome is unknown or the answer is not kept
	name       string
	again      *again // for Again
}

func newProblem(status int, name, outcome string, retry int, title, detail string) Problem {
	return Problem{
		Type: "urn:nebis:problem:" + name, Title: title, Status: status, Detail: detail,
		Outcome: outcome, RetryAfter: retry, name: name,
	}
}

var (
	inProgress = newProblem(409, "in-progress", statusInProgress, 1, "Still in progress",
		"The first request with this key is still running. Send it again, with the same key, to get its answer.")
	mismatch = newProblem(422, "mismatch", statusMismatch, 0, "Key used for another request",
		"This key belongs to an earlier request that asked for something else. A new operation needs a new key.")
	keyMissing = newProblem(400, "key-missing", statusInvalid, 0, "Key required",
		"Send an Idempotency-Key header (or the form field idempotency_key): a new unique value, such as a UUID, for each operation, and the same value when you send that operation again.")
	keyMalformed = newProblem(400, "key-malformed", statusInvalid, 0, "Key malformed",
		"The idempotency key is 1 to 255 characters from ! to ~.")
	bodyUnreadable = newProblem(400, "body-unreadable", statusInvalid, 0, "Body unreadable",
		"The request body could not be read to its end, or is not the form that its Content-Type says.")
	bodyTooLarge = newProblem(413, "body-too-large", statusInvalid, 0, "Body too large",
		"The request body is larger than is accepted here. Nothing was done.")
	notKept = newProblem(410, "not-kept", statusNotKept, 0, "Done before, answer not kept",
		"This operation was carried out before and was not repeated. Its answer is no longer there.")
	unknown = newProblem(409, "unknown", statusUnknown, 0, "Outcome unknown",
		"The operation may or may not have taken effect. Do not repeat it by program: look at the data first.")
	unavailable = newProblem(503, "unavailable", statusUnavailable, 1, "Temporarily unavailable",
		"The database could not be reached or was busy. Send the request again with the same key: that is safe.")
	noDatabase = newProblem(503, "no-database", "", 1, "Temporarily unavailable",
		"The database could not be reached or was busy. Nothing was done.")
	unauthenticated = newProblem(401, "unauthenticated", "", 0, "Not signed in",
		"The request does not say on whose behalf it is made.")
	internal = Problem{Type: "about:blank", Title: "Internal Server Error", Status: 500, name: "internal"}
)

var errKeyMissing = errors.New("nebishttp: no key where one is required")

// kinds says which problem an error is. The first match counts.
var kinds = []struct {
	err     error
	problem Problem
}{
	{nebis.ErrTxGone, unknown}, // before ErrUnknown: no later call can tell
	{nebis.ErrLost, unknown},
	{nebis.ErrInProgress, inProgress},
	{nebis.ErrMismatch, mismatch},
	{nebis.ErrNotKept, notKept},
	{nebis.ErrUnknown, unavailable},
	{nebis.ErrNotCommitted, unavailable},
	{nebis.ErrBusy, unavailable},
	{nebis.ErrKey, keyMalformed},
	{errKeyMissing, keyMissing},
	{errForm, bodyUnreadable},
}

// problemOf finds the problem that err is; internal when it is none of ours.
func problemOf(err error) Problem {
	var key keyError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge
	case errors.As(err, &key):
		p := keyMalformed
		p.Detail = string(key) // made for clients; no other error's text is
		return p
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.problem
		}
	}
	return internal
}

// leading has a problem say where the first one's result is, or where to look for it.
func (rt *route) leading(p Problem, q *request, owner string) Problem {
	switch p.name {
	case mismatch.name:
		p.Location = rt.first(q, owner)
	case notKept.name:
		p.Look = rt.Look
	}
	return p
}

// WriteError answers with what err means: problem+json for a program, a page in
// English or Chinese for a person. It knows the errors of package nebis and of
// [KeyOf], also wrapped, and [http.MaxBytesError]; anything else is a plain 500.
// The text of err is never sent. For handlers that call [nebis.Do] themselves.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	writeProblem(w, r, problemOf(err))
}

// writeProblem sends p in the form that the client reads.
func writeProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	p.setHeader(w.Header())
	if isPerson(r) {
		writePage(w, r, p)
		return
	}
	body, _ := json.Marshal(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

func (p Problem) setHeader(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set(statusHeader, p.Outcome)
	set("Location", p.Location)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
}

package nebishttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/nebis-dev/nebis"
)

const defaultRows = 1000

var (
	batchMalformed = newProblem(400, "batch-malformed", statusInvalid, 0, "Batch malformed",
		"The body is one JSON array, and each element has a name of its own. Nothing was done.")
	tooManyRows = newProblem(413, "too-many-rows", statusInvalid, 0, "Too many rows",
		"The batch has more rows than are accepted at once. Nothing was done.")
	notJSON = newProblem(415, "not-json", statusInvalid, 0, "JSON expected",
		"Send a JSON array, with Content-Type: application/json. Nothing was done.")
	notPost = newProblem(405, "not-post", statusInvalid, 0, "POST expected",
		"A batch is sent by POST. Nothing was done.")
	rowRefused = newProblem(422, "row-refused", "", 0, "Row refused", "")
	notRun     = newProblem(503, "not-run", "", 0, "Not run",
		"The time was used up before this row was done. Nothing of it was; send the batch again with the same key.")
)

// batch is a BatchRoute made ready.
type batch struct {
	rt      *route
	name    string // of the member that names an element; "": its index does
	maxRows int
}

func newBatch(m *Middleware, scope string, o *BatchRoute) *batch {
	if o == nil {
		o = &BatchRoute{}
	}
	rt := m.newRoute(scope, &Route{
		Keep: o.Keep, KeepSeen: o.KeepSeen, Wait: o.Wait, Deadline: o.Deadline,
		MaxRequest: o.MaxRequest, MaxAnswer: o.MaxAnswer, Ignore: o.Ignore,
	})
	b := &batch{rt: rt, name: o.Row, maxRows: o.MaxRows}
	set(&b.maxRows, defaultRows)
	if b.maxRows < 0 {
		panic(fmt.Sprintf("nebishttp: batch %q has a negative MaxRows", scope))
	}
	return b
}

// An element is one row as it came.
type element struct {
	name json.RawMessage // the member that names it, or its index
	text json.RawMessage // all of it
}

// batchRequest is a batch, read to its end.
type batchRequest struct {
	*request
	rows []nebis.Row[element]
}

// read reads a batch; it answers itself when that is not one.
func (b *batch) read(w http.ResponseWriter, r *http.Request) (q batchRequest, owner string, ok bool) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		b.rt.m.problem(w, r, notPost)
		return q, "", false
	case !isJSON(mediaType(r)):
		b.rt.m.problem(w, r, notJSON)
		return q, "", false
	}
	if owner, ok = b.rt.who(w, r); !ok {
		return q, "", false
	}
	var err error
	if q.request, err = b.rt.readRequest(w, r); err == nil {
		q.rows, err = b.rows(q.request)
	}
	if err != nil {
		b.rt.m.problem(w, r, b.refusal(err))
		return q, "", false
	}
	return q, owner, true
}

// errBatch says, in words that a client may read, what is wrong with a body.
type errBatch string

func (e errBatch) Error() string { return "nebishttp: " + string(e) }

// refusal says why nothing was run.
func (b *batch) refusal(err error) Problem {
	var malformed errBatch
	var key keyError
	switch {
	case errors.As(err, &malformed):
		p := batchMalformed
		p.Detail = string(malformed)
		return p
	case errors.Is(err, nebis.ErrTooManyRows):
		return tooManyRows
	case errors.Is(err, nebis.ErrKey) && !errors.As(err, &key): // what nebis.Batch finds
		p := keyMalformed
		p.Detail = "The key of a batch has at most 189 characters, as each row adds its own."
		return p
	}
	return refusal(err)
}

// rows takes the array apart.
func (b *batch) rows(q *request) ([]nebis.Row[element], error) {
	if q.key == "" {
		return nil, errKeyMissing
	}
	var texts []json.RawMessage
	if !utf8.Valid(q.body) || !bytes.HasPrefix(bytes.TrimLeft(q.body, " \t\r\n"), []byte("[")) || json.Unmarshal(q.body, &texts) != nil {
		return nil, errBatch("The body is not a JSON array.")
	}
	if len(texts) > b.maxRows {
		return nil, nebis.ErrTooManyRows
	}
	rows, place := make([]nebis.Row[element], len(texts)), map[string]int{}
	for i, text := range texts {
		key, name, ok := b.nameOf(i, text)
		if !ok {
			return nil, errBatch(fmt.Sprintf("Element %d has no member %q that is a string or a whole number.", i, b.name))
		}
		if first, taken := place[key]; taken {
			return nil, errBatch(fmt.Sprintf("Elements %d and %d have the same %q.", first, i, b.name))
		}
		place[key] = i
		rows[i] = nebis.Row[element]{Key: key, In: element{name, text},
			Fingerprint: b.rt.digest.of(&request{r: q.r, body: text})}
	}
	return rows, nil
}

// nameOf returns the name of an element, also as it came.
func (b *batch) nameOf(index int, text json.RawMessage) (key string, name json.RawMessage, ok bool) {
	if b.name == "" {
		key = strconv.Itoa(index)
		return key, json.RawMessage(key), true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return "", nil, false
	}
	name = members[b.name]
	if n, err := strconv.ParseInt(string(name), 10, 64); err == nil {
		return strconv.FormatInt(n, 10), name, true
	}
	return key, name, json.Unmarshal(name, &key) == nil && key != ""
}

func (b *batch) op(q batchRequest, owner string) nebis.Op {
	return nebis.Op{Scope: b.rt.scope, Owner: owner, Key: q.key,
		Keep: b.rt.Keep, KeepSeen: b.rt.KeepSeen, Wait: b.rt.wait(q.r), MaxResponse: b.rt.MaxAnswer}
}

package nebishttp

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nebis-dev/nebis"
)

// BatchRoute is what may differ from one [Batch] to the next. The zero value works,
// but Row should be set. Options.Route's defaults count here, too.
type BatchRoute struct {
	// Row is the member of each element that names it, a string or a whole number:
	// "line", "sku". Without it an element is named by its index, from 0 on, and a
	// batch that is sent again must have the same order.
	Row string

	// MaxRows is the largest number of elements; above it 413. Defaults to 1,000.
	// The Store's Options.MaxRows bounds it, too.
	MaxRows int

	// Keep, KeepSeen and Wait are as in Route, for each row.
	Keep, KeepSeen, Wait time.Duration

	// Deadline is for the whole batch. Rows that it leaves no time for are not run,
	// and run when the batch is sent again. Defaults to 30 s; the server's
	// WriteTimeout must be longer.
	Deadline time.Duration

	// MaxRequest is the largest body, in bytes; above it 413. Defaults to 1 MiB.
	MaxRequest int64

	// MaxAnswer is the largest result of one row that is kept, in bytes of JSON.
	// Defaults to 1 MiB.
	MaxAnswer int

	// Ignore has the names of members that may differ from one send to the next.
	Ignore []string
}

// A RowError is an error of a row that its client may read: "sold out". The text of
// any other error is for the log alone.
type RowError string

// Error returns the text.
func (e RowError) Error() string { return string(e) }

// Batch returns a handler for a POST of a JSON array: fn runs once for each element,
// decoded as [nebis.Batch] runs it, each in a transaction of its own. Sent again with
// the same key, in whatever order, what was done is replayed and only what failed
// runs again. A key is required.
//
//	mux.Handle("POST /orders/batch", nebishttp.Batch(m, "order", placeRow, &nebishttp.BatchRoute{Row: "line"}))
//
// fn's r.Context() outlives the client. The error that fn returns, or its panic,
// rolls back its row and no other; the client is told a [RowError], of others only
// that there was one.
//
// The answer is 200 and an array in the order of the elements, when some of them
// failed as well: which, is in it. Each has its row, a status (created, replayed,
// failed, not-run), and a result or an error as RFC 9457 has it. Idempotency-Status
// is released if a row is not done, replayed if all are replays, else created.
//
// o may be nil. Batch panics when scope or o is malformed.
func Batch[In, Out any](m *Middleware, scope string, fn func(r *http.Request, tx *sql.Tx, in In) (Out, error), o *BatchRoute) http.HandlerFunc {
	b := newBatch(m, scope, o)
	return func(w http.ResponseWriter, r *http.Request) {
		q, owner, ok := b.read(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), b.rt.Deadline)
		defer cancel()
		results, err := nebis.Batch(ctx, m.store, b.op(q, owner), q.rows, func(ctx context.Context, tx *sql.Tx, e element) (Out, error) {
			return runRow(ctx, q.request, tx, e, fn)
		})
		if err != nil {
			m.problem(w, r, b.refusal(err))
			return
		}
		answers := make([]rowAnswer[Out], len(results))
		for i, res := range results {
			answers[i] = answerTo(b, r, q.rows[i].In, res)
		}
		sendRows(w, results, answers)
	}
}

// runRow decodes one element and runs fn on it. What goes wrong is the row's.
func runRow[In, Out any](ctx context.Context, q *request, tx *sql.Tx, e element, fn func(*http.Request, *sql.Tx, In) (Out, error)) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	var in In
	if err := json.Unmarshal(e.text, &in); err != nil {
		return out, &rolledBack{misfit(err)}
	}
	r := q.forHandler(ctx, tx)
	defer q.forget(r)
	if out, err = fn(r, tx, in); err != nil {
		err = &rolledBack{err}
	}
	return out, err
}

// misfit says what of an element cannot be decoded, in the client's terms.
func misfit(err error) RowError {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return RowError(fmt.Sprintf("%q cannot be a %s", wrong.Field, wrong.Value))
	}
	return "the row does not have the form that is expected here"
}

// rowAnswer is what the client is told of one row.
type rowAnswer[Out any] struct {
	Row    json.RawMessage `json:"row"` // as it came
	Status nebis.RowStatus `json:"status"`
	Result *Out            `json:"result,omitempty"`
	Error  *Problem        `json:"error,omitempty"`
}

func answerTo[Out any](b *batch, r *http.Request, e element, res nebis.RowResult[Out]) rowAnswer[Out] {
	a := rowAnswer[Out]{Row: e.name, Status: res.Status}
	if res.Err == nil {
		a.Result = &res.Out
		return a
	}
	p := rowProblem(res.Status, res.Err)
	if p.Status >= http.StatusInternalServerError && p.name != notRun.name || p.name == unknown.name {
		b.rt.log(r, "nebishttp: a row of a batch failed", res.Err)
	}
	a.Error = &p
	return a
}

// rowProblem says what a row's error means, in words that the client may read.
func rowProblem(status nebis.RowStatus, err error) Problem {
	var back *rolledBack
	var shown RowError
	its := errors.As(err, &back) && !errors.Is(err, nebis.ErrTxGone) // the row's own, not the database's
	switch p := problemOf(err); {
	case status == nebis.RowNotRun:
		return notRun
	case its && errors.As(err, &shown):
		p = rowRefused
		p.Detail = string(shown)
		return p
	case p.name == internal.name && errors.Is(err, context.DeadlineExceeded):
		return notRun // rolled back
	case p.name == internal.name && !its:
		return unavailable
	default:
		return p
	}
}

func sendRows[Out any](w http.ResponseWriter, results []nebis.RowResult[Out], answers []rowAnswer[Out]) {
	body, err := json.Marshal(answers)
	if err != nil { // each result has been through JSON before
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	word := batchStatus(results)
	if word == statusReplayed {
		w.Header().Set(replayedHeader, "true")
	}
	w.Header().Set(statusHeader, word)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}

func batchStatus[Out any](results []nebis.RowResult[Out]) string {
	word := statusReplayed
	for _, res := range results {
		switch {
		case res.Err != nil:
			return statusReleased
		case res.Status == nebis.RowCreated:
			word = statusCreated
		}
	}
	if len(results) == 0 {
		return statusCreated
	}
	return word
}

package nebishttp

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

const (
	urlencoded = "application/x-www-form-urlencoded"
	formData   = "multipart/form-data"
)

// errForm: a form that cannot be read may hide a key, and must not run as if it
// had none.
var errForm = errors.New("nebishttp: the form cannot be read")

// request is one write, read to its end before anything else happens: a client
// that sends slowly must not hold a transaction open.
type request struct {
	r     *http.Request // as it came, its body consumed
	body  []byte
	rest  io.Reader // what comes after body, where a large one passes; else nil
	form  form
	whole bool // it is a form, and all of it could be read
	key   string
}

// form is what a form says, however it was encoded.
type form struct {
	values map[string][]string
	files  map[string][]*multipart.FileHeader
}

func (rt *route) readRequest(w http.ResponseWriter, r *http.Request) (q *request, err error) {
	q = &request{r: r}
	if rt.large {
		q.body, q.rest, err = readHead(r, rt.MaxRequest)
	} else {
		q.body, err = readBody(w, r, rt.MaxRequest)
	}
	if err != nil {
		return nil, err
	}
	if q.rest == nil {
		q.form, q.whole = readForm(r, q.body)
	}
	q.key, err = findKey(r, q.form.values)
	if q.key == "" && err == nil && q.rest == nil && !q.whole && isForm(mediaType(r)) {
		err = errForm
	}
	return q, err
}

// readHead reads a body up to limit bytes; rest is what is left of a larger one.
func readHead(r *http.Request, limit int64) (head []byte, rest io.Reader, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil, nil
	}
	head, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, nil, fmt.Errorf("nebishttp: reading the body: %w", err)
	}
	if int64(len(head)) > limit {
		rest = r.Body
	}
	return head, rest, nil
}

// readBody reads at most limit bytes, whatever Content-Length says.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("nebishttp: reading the body: %w", err)
	}
	return body, nil
}

// readForm returns the fields that can be read, and whether these are all of a
// form. A middleware outside of ours (CSRF) may have read the body already; then
// they are in the request.
func readForm(r *http.Request, body []byte) (form, bool) {
	switch mediaType(r) {
	case urlencoded:
		if len(body) == 0 {
			return form{values: r.PostForm}, true
		}
		values, err := url.ParseQuery(string(body))
		return form{values: values}, err == nil
	case formData:
		if f := r.MultipartForm; f != nil {
			return form{f.Value, f.File}, true
		}
		return readMultipart(r, body)
	}
	return form{}, false
}

func readMultipart(r *http.Request, body []byte) (form, bool) {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	// All of it is in memory as it is: no part needs a file on disk.
	f, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(int64(len(body)))
	if err != nil {
		return form{}, false
	}
	return form{f.Value, f.File}, true
}

// forHandler returns the request as one run of the handler gets it: a copy of its
// own, with a fresh body.
func (q *request) forHandler(ctx context.Context, tx *sql.Tx) *http.Request {
	ctx = context.WithValue(ctx, ctxTx, tx)
	ctx = context.WithValue(ctx, ctxKey, q.key)
	r := q.r.Clone(ctx)
	// What is stored must be readable by a client that takes no gzip: nothing
	// inside of ours may encode. A middleware outside of ours still may.
	r.Header.Del("Accept-Encoding")
	r.TransferEncoding = nil
	r.Body = http.NoBody
	if q.rest != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(q.body), q.rest))
		return r
	}
	if len(q.body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(q.body))
	}
	if len(q.body) > 0 || r.ContentLength < 0 {
		r.ContentLength = int64(len(q.body))
	}
	return r
}

// forget removes what parsing the handler's copy left on disk; net/http knows
// only the original.
func (q *request) forget(r *http.Request) {
	if r.MultipartForm != nil && q.r.MultipartForm == nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

// mediaType returns the media type of the body in small letters, without
// parameters.
func mediaType(r *http.Request) string {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func isForm(media string) bool { return media == urlencoded || media == formData }

// isPerson reports whether a browser shows the answer to a person: a form, from
// a client that names text/html. Everything else is a program. (Sec-Fetch headers
// would say more, but are missing on plain http.)
func isPerson(r *http.Request) bool {
	return isForm(mediaType(r)) && accepts(r.Header["Accept"], "text/html")
}

// accepts reports whether one of the lines of an Accept header names media.
func accepts(lines []string, media string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), media) && quality(params) > 0 {
				return true
			}
		}
	}
	return false
}

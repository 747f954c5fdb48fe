package nebishttp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// rule is the version of the digest: it changes whenever the same request would
// get another digest.
const rule = "h1:"

// volatile are the names of fields that change from one sending of a form to the
// next without changing what is asked: the CSRF tokens of the usual frameworks.
var volatile = []string{
	keyField,
	"_csrf", "_csrf_token", "_token", "_wpnonce", "authenticity_token", "csrf", "csrf_token",
	"csrfmiddlewaretoken", "gorilla.csrf.Token", "__RequestVerificationToken",
}

// names is a set of field names.
type names map[string]bool

// fingerprinter turns a request into the digest of what it asks.
type fingerprinter struct {
	ignore names // fields that do not count
	raw    bool  // the body counts as bytes, whatever it means
}

func newFingerprinter(raw bool, ignore []string) fingerprinter {
	f := fingerprinter{ignore: names{}, raw: raw}
	for _, name := range slices.Concat(volatile, ignore) {
		f.ignore[name] = true
	}
	return f
}

// of digests method, path, query, media type and the meaning of the body.
func (f fingerprinter) of(q *request) string {
	d := digest{sha256.New()}
	d.text(q.r.Method)
	d.text(q.r.URL.EscapedPath())
	f.query(d, q.r.URL.RawQuery)
	d.text(contentType(q.r))
	f.body(d, q)
	return rule + hex.EncodeToString(d.Sum(nil))
}

func (f fingerprinter) query(d digest, raw string) {
	values, err := url.ParseQuery(raw)
	if f.raw || err != nil {
		d.tagged("bytes", []byte(raw))
		return
	}
	d.values(values, f.ignore)
}

func (f fingerprinter) body(d digest, q *request) {
	media := mediaType(q.r)
	switch {
	case q.rest != nil: // the rest is not here yet
		d.number(int(q.r.ContentLength + 1))
		d.tagged("head", q.body)
	case f.raw && (len(q.body) > 0 || !q.whole): // else the bytes went to a middleware outside
		d.tagged("bytes", q.body)
	case q.whole:
		d.values(q.form.values, f.ignore)
		d.files(q.form.files, f.ignore)
	case isJSON(media) && utf8.Valid(q.body) && json.Valid(q.body):
		d.tagged("json", jsonDigest(q.body, f.ignore))
	default:
		d.tagged("bytes", q.body)
	}
}

// contentType returns the media type with the parameters that say what the body
// means: charset and boundary say only how it was written.
func contentType(r *http.Request) string {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return mediaType(r)
	}
	delete(params, "charset")
	if media == formData {
		delete(params, "boundary")
	}
	return mime.FormatMediaType(media, params)
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// digest is a hash of texts that keeps them apart: each goes in after its length.
type digest struct{ hash.Hash }

func (d digest) number(n int) {
	d.Write(binary.AppendUvarint(nil, uint64(n)))
}

func (d digest) text(s string) {
	d.number(len(s))
	_, _ = io.WriteString(d, s)
}

func (d digest) tagged(tag string, b []byte) {
	d.text(tag)
	d.number(len(b))
	d.Write(b)
}

// values digests fields by name; the order within one name counts, the order of
// the names does not.
func (d digest) values(values map[string][]string, ignore names) {
	d.text("fields")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if ignore[name] {
			continue
		}
		d.text(name)
		d.number(len(values[name]))
		for _, v := range values[name] {
			d.text(v)
		}
	}
}

func (d digest) files(files map[string][]*multipart.FileHeader, ignore names) {
	d.text("files")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ignore[name] {
			continue
		}
		d.text(name)
		d.number(len(files[name]))
		for _, file := range files[name] {
			d.text(file.Filename)
			d.content(file)
		}
	}
}

// content digests a file as a whole, so that its length need not be known first.
func (d digest) content(file *multipart.FileHeader) {
	sum := sha256.New()
	if f, err := file.Open(); err == nil {
		_, _ = io.Copy(sum, f)
		_ = f.Close()
	}
	d.Write(sum.Sum(nil))
}

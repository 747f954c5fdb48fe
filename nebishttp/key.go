package nebishttp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

const (
	keyField  = "idempotency_key"
	keyHeader = "Idempotency-Key"
	maxKey    = 255
)

// keyError says, in words that a client may read, what is wrong with a key. It
// is a [nebis.ErrKey].
type keyError string

func (e keyError) Error() string { return "nebishttp: " + string(e) }
func (e keyError) Unwrap() error { return nebis.ErrKey }

// contextKey is what a value of ours is found by in a context.
type contextKey int

const (
	ctxKey contextKey = iota // the operation's key
	ctxTx                    // the transaction
)

// KeyOf returns the key of r: the one given by [WithKey], else the form field
// idempotency_key, else the header Idempotency-Key. It returns "" if r has none,
// and an error that is a [nebis.ErrKey] if what it has is malformed; [WriteError]
// knows what to answer.
//
// It is for handlers that call [nebis.Do] themselves. Looking for the field
// parses the form as [http.Request.ParseMultipartForm] does, so limit the body
// first; behind [Middleware.Tx] and [Middleware.Wrap] the key is at hand and
// nothing is parsed.
func KeyOf(r *http.Request) (string, error) {
	if r.Context().Value(ctxKey) == nil && isForm(mediaType(r)) {
		_ = r.ParseMultipartForm(defaultLimit) // parses the other kind too, and keeps what it could read
	}
	return findKey(r, r.PostForm)
}

// WithKey returns a copy of r whose key is key, whatever its form and header
// say: for unit tests of handlers that ask [KeyOf], and for a middleware outside
// of ours that makes the key from a business object (basket id and version).
func WithKey(r *http.Request, key string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), ctxKey, key))
}

// findKey takes the key from where it is: the context, the form, the header.
func findKey(r *http.Request, form map[string][]string) (string, error) {
	key, err := givenKey(r, form)
	if key == "" || err != nil {
		return "", err
	}
	return key, checkKey(key)
}

func givenKey(r *http.Request, form map[string][]string) (string, error) {
	if key, ok := r.Context().Value(ctxKey).(string); ok {
		return key, nil
	}
	// Browsers may add a header of their own to every form post: the field wins.
	if key, err := fieldKey(form[keyField]); key != "" || err != nil {
		return key, err
	}
	return headerKey(r.Header[keyHeader])
}

func fieldKey(values []string) (string, error) {
	key := ""
	for _, v := range values {
		v = strings.Trim(v, " \t")
		if v == "" {
			continue
		}
		if key != "" && v != key {
			return "", keyError("the form has two different " + keyField + " fields; render the field once in each form")
		}
		key = v
	}
	return key, nil
}

func headerKey(lines []string) (string, error) {
	if len(lines) > 1 {
		return "", keyError("the request has more than one " + keyHeader + " header")
	}
	if len(lines) == 0 {
		return "", nil
	}
	key := strings.Trim(lines[0], " \t")
	if strings.HasPrefix(key, `"`) {
		text, ok := sfString(key)
		if !ok {
			return "", keyError(keyHeader + ` begins with a quote but is not a string as RFC 9651 writes it ("…", with \" and \\ for a quote and a backslash)`)
		}
		key = text
	}
	if strings.Trim(key, " ") == "" {
		return "", nil
	}
	return key, nil
}

// mistaken are values that a script sends when it has no key.
var mistaken = map[string]string{
	"[object Object]": "an object was turned into text",
	"undefined":       "a variable without a value was turned into text",
	"null":            "an absent value was turned into text",
	"NaN":             "a failed calculation was turned into text",
}

func checkKey(key string) error {
	if why, ok := mistaken[key]; ok {
		return keyError(fmt.Sprintf("the key is %q: %s; every operation needs a key of its own, such as a UUID", key, why))
	}
	if len(key) > maxKey {
		return keyError(fmt.Sprintf("the key has %d bytes; at most %d are allowed", len(key), maxKey))
	}
	if i := strings.IndexFunc(key, func(c rune) bool { return c < '!' || c > '~' }); i >= 0 {
		return keyError(fmt.Sprintf("byte %d of the key is not one of the characters ! to ~ (no blanks, no control characters, ASCII only)", i+1))
	}
	return nil
}

// NewKey returns a new key, a UUID version 7: random, and in the order of time,
// which database indexes like.
func NewKey() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

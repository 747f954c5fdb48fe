package nebishttp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// Field returns the hidden input that gives a form its key, a new one each time,
// and makes the page that is being written Cache-Control: no-store. Call it once
// for each form, before the page's status is written:
//
//	<form method="post" action="/orders">{{.Field}} …
//
// r is the request that the page answers. Use it when a form is shown again after
// a mistake, too: the corrected form is a new operation.
func Field(w http.ResponseWriter, r *http.Request) template.HTML {
	// The client may put another new key in its place, after an edit, and must not
	// where the key stands for a basket.
	return hiddenField(w, NewKey(), " data-nebis-renew")
}

// FieldKey is [Field] with a key of the server's own, for what must happen once
// however many pages are open: a [BusinessKey] made from a basket's id and version,
// say. A key that is too long or has other characters than ! to ~ is replaced by its SHA-256.
func FieldKey(w http.ResponseWriter, _ *http.Request, key string) template.HTML {
	return hiddenField(w, fitting(key), "")
}

func hiddenField(w http.ResponseWriter, key, more string) template.HTML {
	w.Header().Set("Cache-Control", "no-store")
	// Without autocomplete="off" Firefox puts the old key back on reload.
	return template.HTML(`<input type="hidden" name="` + keyField + `" value="` +
		template.HTMLEscapeString(key) + `" autocomplete="off"` + more + `>`)
}

// BusinessKey makes a key of what must happen once: the order of version 3 of
// basket 17 is BusinessKey("basket", 17, 3), in however many tabs the basket is
// open. Parts are written as fmt.Sprint does, and kept apart whatever is in them.
// For [FieldKey], and for [WithKey] in a middleware outside of ours.
func BusinessKey(parts ...any) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = url.QueryEscape(fmt.Sprint(part))
	}
	return fitting(strings.Join(words, ":"))
}

// fitting is key, or its SHA-256 where it is too long or has other characters
// than a key may have.
func fitting(key string) string {
	if key != "" && checkKey(key) == nil {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// SeeOther answers a form with 303 See Other: the browser GETs url, and reloading
// that page sends nothing again. The answer to every form that did its work.
func SeeOther(w http.ResponseWriter, r *http.Request, url string) {
	http.Redirect(w, r, url, http.StatusSeeOther)
}

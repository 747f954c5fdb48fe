package shop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// visitorCookie names a visitor, who has no account in this shop. It is the owner
// of the visitor's keys, so it lives longer than any key.
const (
	visitorCookie = "shop_visitor"
	visitorAge    = 90 * 24 * 60 * 60 // seconds
	guest         = "guest"
)

// ownerOf is on whose behalf a request comes.
func ownerOf(r *http.Request) (string, error) {
	return visitorOf(r), nil
}

func visitorOf(r *http.Request) string {
	c, err := r.Cookie(visitorCookie)
	if err != nil || c.Value == "" {
		return guest
	}
	if fits(c.Value) {
		return c.Value
	}
	sum := sha256.Sum256([]byte(c.Value))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fits tells whether a cookie's value can be kept as it is.
func fits(value string) bool {
	for _, b := range []byte(value) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return len(value) <= 128
}

// remember gives a new visitor a name and keeps a language that was asked for.
// GET pages do this and nothing else does: the Set-Cookie of a write is lost when
// the browser drops the first of two requests.
func remember(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(visitorCookie); err != nil || c.Value == "" {
		setCookie(w, visitorCookie, rand.Text(), visitorAge)
	}
	if lang, ok := langNamed(r.URL.Query().Get("lang")); ok {
		setCookie(w, langCookie, lang, visitorAge)
	}
}

func setCookie(w http.ResponseWriter, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

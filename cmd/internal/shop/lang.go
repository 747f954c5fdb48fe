package shop

import (
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// langCookie keeps the language that a visitor chose. Like the visitor's own
// cookie it is set by GET pages only.
const langCookie = "shop_lang"

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// langOf is the language of an answer: asked for by ?lang=, chosen before, or
// what the browser prefers.
func langOf(r *http.Request) string {
	if lang, ok := langNamed(r.URL.Query().Get("lang")); ok {
		return lang
	}
	if c, err := r.Cookie(langCookie); err == nil {
		if lang, ok := langNamed(c.Value); ok {
			return lang
		}
	}
	if _, i := language.MatchStrings(matcher, r.Header.Get("Accept-Language")); i == 1 {
		return chinese
	}
	return english
}

func langNamed(name string) (string, bool) {
	switch base, _, _ := strings.Cut(strings.ToLower(name), "-"); base {
	case "en":
		return english, true
	case "zh":
		return chinese, true
	}
	return "", false
}

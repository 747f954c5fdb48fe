package shop

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis/nebishttp"
)

// clientPath is where the browser client is served.
const clientPath = "/nebis/"

// clientPage shows what the client does with an order that a script sends. All
// that happens on it happens in the browser; the words for it come along.
func (s *Shop) clientPage(w http.ResponseWriter, r *http.Request) error {
	lang := langOf(r)
	words := map[string]string{}
	for key := range texts {
		if name, ok := strings.CutPrefix(key, "client_js_"); ok {
			words[name] = say(lang, key)
		}
	}
	v := s.view(r, say(lang, "client_title"))
	v.Nav, v.Data = "client", words
	s.render(w, http.StatusOK, "client", v)
	return nil
}

// losing does the work and hangs up instead of answering: twice for each key,
// because a browser may send a request again by itself, once.
func (s *Shop) losing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, err := nebishttp.KeyOf(r)
		for i := range 2 {
			if err == nil && key != "" && s.lost.add(strconv.Itoa(i)+visitorOf(r)+key) {
				next.ServeHTTP(nobody{}, r)
				panic(http.ErrAbortHandler)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// nobody gets an answer that is lost.
type nobody http.Header

func (n nobody) Header() http.Header         { return http.Header(n) }
func (n nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n nobody) WriteHeader(int)             {}

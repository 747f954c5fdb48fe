package httptests

import (
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/nebishttp"
)

func TestAHandlersErrorIsRenderedIntoACleanWriter(t *testing.T) {
	var read string
	o := &nebishttp.Options{Error: func(w http.ResponseWriter, r *http.Request, err error) {
		_ = r.ParseForm()
		read = r.PostForm.Get("item")
		if err.Error() == "teapot" {
			w.WriteHeader(http.StatusTeapot)
		}
	}}
	s := newSite(t, sqlite, o, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", s.m.Tx("order", s.place(func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			_ = r.ParseForm()
			w.Header().Set("Set-Cookie", "half=done")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("half"))
			return errors.New(r.Header.Get("Fail"))
		}), nil))
	})
	for text, status := range map[string]int{"teapot": 418, "only logged": 500} {
		read = ""
		p := s.send("/", "item=tea", ctype, form, "Fail", text)
		s.want(p, status, "")
		if strings.Contains(p.body, "half") || p.header.Get("Set-Cookie") != "" || read != "tea" {
			t.Errorf("%s: got %v %s; the form says %q", text, p.header, p.body, read)
		}
	}
	s.wantOrders(0)
}

func TestASiteMayRenderOurAnswersItself(t *testing.T) {
	o := &nebishttp.Options{Problem: func(w http.ResponseWriter, _ *http.Request, p nebishttp.Problem) {
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte("our look: " + p.Title))
	}}
	s := newSite(t, sqlite, o, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", s.m.Tx("order", s.place(nil), &nebishttp.Route{Required: true}))
	})
	p := s.send("/", "")
	s.want(p, 400, "invalid")
	if p.body != "our look: Key required" {
		t.Errorf("got %s", p.body)
	}
}

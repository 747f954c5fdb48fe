package shop

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// message is a page that says one thing: sold out, gone wrong, not there.
type message struct {
	Say   []string
	Back  string        // the form that this came from
	First string        // the first result, where it is known
	Again template.HTML // sends what was refused as a new order
}

// message renders a page out of the texts <name>_title and says.
func (s *Shop) message(w http.ResponseWriter, r *http.Request, status int, name string, says ...string) {
	s.leadOn(w, r, status, name, message{}, says...)
}

// leadOn is message with ways on.
func (s *Shop) leadOn(w http.ResponseWriter, r *http.Request, status int, name string, data message, says ...string) {
	lang := langOf(r)
	v := s.view(r, say(lang, name+"_title"))
	for _, key := range says {
		data.Say = append(data.Say, say(lang, key))
	}
	if data.Back = formOf(r); data.Back != "" {
		v.Path = data.Back
	}
	v.Data = data
	s.render(w, status, "message", v)
}

// formOf is the page of the form that a POST came from. Its fields tell; when
// they have been read already, the page that sent it does.
func formOf(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	if item := r.PostFormValue("item"); known(item) {
		return "/goods/" + item
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		if item, ok := strings.CutPrefix(from.Path, "/goods/"); ok && known(item) {
			return "/goods/" + item
		}
	}
	return ""
}

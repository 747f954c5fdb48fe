package shop

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/nebis-dev/nebis/nebishttp"
)

// form is one of the three order forms.
type form struct {
	view
	ID, Action string
	Client     bool          // the script in the page looks after it as well
	Field      template.HTML // the hidden key; empty on the unprotected form
	Key        string        // the same, to be looked at
	Problem    string        // what to correct
	Data       filled
}

// filled is what stands in the fields of a form.
type filled struct{ Item, Qty, Delay, Fail string }

func (f form) Delays() []string { return []string{"0", "1500", "5000"} }
func (f form) Fails() []string  { return []string{"", "error", "panic", "500"} }

// forms is the page on which they stand side by side.
type forms struct {
	Item                   string
	Client, Guarded, Naive form
}

// IDs of the forms, which send them along.
const (
	clientForm  = "client"
	guardedForm = "guarded"
	naiveForm   = "naive"
)

// orderPage shows the forms, slow enough to be double-clicked.
func (s *Shop) orderPage(w http.ResponseWriter, r *http.Request) error {
	item := r.PathValue("code")
	if !known(item) {
		return errNoOrder
	}
	page := s.forms(w, r, item, nebishttp.NewKey())
	s.showForms(w, r, http.StatusOK, page)
	return nil
}

// forms are all three as they are first shown.
func (s *Shop) forms(w http.ResponseWriter, r *http.Request, item, key string) *forms {
	v, first := s.view(r, ""), filled{Item: item, Qty: "1", Delay: "1500"}
	return &forms{
		Item:    item,
		Client:  form{view: v, ID: clientForm, Action: "/orders", Client: true, Field: nebishttp.Field(w, r), Data: first},
		Guarded: form{view: v, ID: guardedForm, Action: "/orders", Field: nebishttp.FieldKey(w, r, key), Key: key, Data: first},
		Naive:   form{view: v, ID: naiveForm, Action: "/naive/orders", Data: first},
	}
}

func (s *Shop) showForms(w http.ResponseWriter, r *http.Request, status int, page *forms) {
	v := s.view(r, say(langOf(r), page.Item))
	v.Nav, v.Path, v.Data = "goods", "/goods/"+page.Item, page
	s.render(w, status, "order", v)
}

// formAgain shows the forms again after a mistake in one of them. One of the
// protected has its key still, for nothing has happened under it; the other has a
// new one, which is as good.
func (s *Shop) formAgain(w http.ResponseWriter, r *http.Request, guarded bool, err *inputError) {
	lang, item := langOf(r), r.PostFormValue("item")
	if !known(item) {
		s.message(w, r, http.StatusBadRequest, "none", err.text)
		return
	}
	key := nebishttp.NewKey()
	if mine, bad := nebishttp.KeyOf(r); guarded && bad == nil && mine != "" {
		key = mine
	}
	page := s.forms(w, r, item, key)
	back, free := &page.Naive, "still_nothing"
	switch {
	case guarded && r.PostFormValue("form") == clientForm:
		back = &page.Client
	case guarded:
		back, free = &page.Guarded, "still_free"
	}
	back.Data = filled{item, r.PostFormValue("qty"), r.PostFormValue("delay_ms"), r.PostFormValue("fail")}
	back.Problem = say(lang, err.text) + " " + say(lang, free)
	s.showForms(w, r, http.StatusBadRequest, page)
}

// asInput tells whether err is the client's mistake.
func asInput(err error) (*inputError, bool) {
	var input *inputError
	return input, errors.As(err, &input)
}

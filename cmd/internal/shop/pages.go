package shop

import (
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nebis-dev/nebis/nebishttp"
)

// page wraps a GET page: it remembers the visitor and renders a failure.
func (s *Shop) page(show func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		remember(w, r)
		s.greet(w, r)
		switch err := show(w, r); {
		case errors.Is(err, errNoOrder):
			s.message(w, r, http.StatusNotFound, "none", "none_say")
		case err != nil:
			s.failed(w, r, err)
		}
	}
}

// onShelf is one of the goods on its page.
type onShelf struct {
	Code, About string
	Endless     bool
	Left        int
}

func (s *Shop) goodsPage(w http.ResponseWriter, r *http.Request) error {
	left, err := s.stock(r.Context())
	if err != nil {
		return err
	}
	points, err := s.points(r.Context(), visitorOf(r))
	if err != nil {
		return err
	}
	var list []onShelf
	for _, g := range shelf {
		list = append(list, onShelf{g.Code, g.Code + "_about", g.Stock == nil, left[g.Code]})
	}
	v := s.view(r, say(langOf(r), "goods_title"))
	v.Nav, v.Points, v.Data = "goods", points, list
	s.render(w, http.StatusOK, "goods", v)
	return nil
}

// placed is the page of one order: what was sent, and what became of it.
type placed struct {
	record
	Headline, Story string
	Orders          []record // this one, and those made by mistake beside it
	Answers         []string // Idempotency-Status of each answer
	Mine            bool
	Price           string
	Cancel          template.HTML // the hidden key of the form that cancels
	Moods           []string      // of the service that would send the money back
}

// Payable tells whether the order waits for money.
func (p placed) Payable() bool { return p.Status == accepted }

// Open tells whether the visitor can pick it up or cancel it.
func (p placed) Open() bool { return p.Mine && (p.Status == accepted || p.Status == paid) }

// Twins tells whether the same order was made again by mistake.
func (p placed) Twins() bool { return len(p.Orders) > 1 }

// First is the order that was meant.
func (p placed) First() int64 { return p.Orders[0].ID }

// placedPage is where every sender of an order is led to. It must not rely on a
// cookie of the POST's answer: of two answers the browser may drop the first.
func (s *Shop) placedPage(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return errNoOrder
	}
	rec, err := s.find(r.Context(), id)
	if err != nil {
		return err
	}
	data := placed{record: rec, Orders: []record{rec}}
	lang := langOf(r)
	if rec.Guarded() {
		data.tellGuarded(lang, s.tally.answers(id))
	} else {
		if data.Orders, err = s.twins(r.Context(), rec); err != nil {
			return err
		}
		data.tellTwins(lang)
	}
	v := s.view(r, data.Headline)
	data.Mine, data.Price = rec.Visitor == visitorOf(r), yuan(lang, rec.Cents())
	if data.Open() {
		// However many pages of it are open: one order is cancelled once.
		data.Cancel, data.Moods = nebishttp.FieldKey(w, r, nebishttp.BusinessKey("cancel", id)), moods
	}
	v.Data = data
	if data.Mine {
		if v.Points, err = s.points(r.Context(), rec.Visitor); err != nil {
			return err
		}
	}
	s.render(w, http.StatusOK, "placed", v)
	return nil
}

func (p *placed) tellGuarded(lang string, answers []string) {
	p.Answers = answers
	if len(answers) < 2 {
		p.Headline, p.Story = say(lang, "ordered"), say(lang, "now_back")
		return
	}
	p.Headline, p.Story = say(lang, "sent_once", times(lang, len(answers))), say(lang, "same_key")
}

// tellTwins tells of an order that had no key: each request is an order of its own.
func (p *placed) tellTwins(lang string) {
	one, many := "naive_one", "naive_twins"
	if p.Keyless() {
		one, many = "keyless_one", "keyless_twins"
	}
	n := len(p.Orders)
	if !p.Twins() {
		p.Headline, p.Story = say(lang, "ordered"), say(lang, one)
		return
	}
	p.Headline, p.Story = say(lang, "sent_n", times(lang, n), times(lang, n)), say(lang, many)
}

// listed is one order in the list.
type listed struct {
	record
	Twin bool
}

// Stamp and Clock are the time of the order, for programs and for people.
func (l listed) Stamp() string { return l.Made.UTC().Format(time.RFC3339) }
func (l listed) Clock() string { return l.Made.Format("15:04:05") }

// ledger is the page of all orders, with the live counts.
type ledger struct {
	Heading   string
	Notice    *notice
	Total     totals
	Orders    []listed
	Shortened bool
	Key       string // for the example
}

// pageOrders is how many orders the page shows.
const pageOrders = 50

func (s *Shop) listPage(w http.ResponseWriter, r *http.Request) error {
	n, err := s.count(r.Context())
	if err != nil {
		return err
	}
	newest, err := s.newest(r.Context(), pageOrders)
	if err != nil {
		return err
	}
	lang := langOf(r)
	data := ledger{Heading: heading(lang, n), Total: s.tally.now(), Shortened: n > len(newest), Key: nebishttp.NewKey()}
	data.Notice = s.told(r)
	for _, rec := range newest {
		twin := func(other record) bool { return other.ID < rec.ID && isTwin(rec, other) }
		data.Orders = append(data.Orders, listed{rec, slices.ContainsFunc(newest, twin)})
	}
	v := s.view(r, say(lang, "nav_list"))
	v.Nav, v.Data = "list", data
	s.render(w, http.StatusOK, "orders", v)
	return nil
}

func heading(lang string, n int) string {
	switch n {
	case 0:
		return say(lang, "list_none")
	case 1:
		return say(lang, "list_title_1")
	}
	return say(lang, "list_title", n)
}

func (s *Shop) noSuchPage(http.ResponseWriter, *http.Request) error { return errNoOrder }

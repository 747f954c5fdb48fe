package shop

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
)

// The simulated payment provider: a page of somebody else's site, where an order is
// paid. What it sends is signed, and the shop believes nothing else.

// The bounds of what the page takes.
const (
	maxTimes = 10
	maxGap   = 2000 // milliseconds
	patience = 10 * time.Second
)

// deal is what the provider and the coupon service are told to do.
type deal struct {
	Times, Gap, Drop int
	AtOnce, Forged   bool
	Coupon           string
}

var usual = deal{Times: 3, Gap: 200, Coupon: moods[0]}

// providerView is the page before and after.
type providerView struct {
	Order   record
	Price   string
	Deal    deal
	Account string // for the command line
	Secret  string
	Cents   int64
	Shots   []callbacks.Shot
}

func (providerView) Moods() []string { return moods }
func (providerView) Gaps() []int     { return []int{0, 200, 1000} }

// Acknowledged counts the callbacks after which a provider would send no more.
func (p providerView) Acknowledged() (n int) {
	for _, s := range p.Shots {
		if s.Acknowledged {
			n++
		}
	}
	return n
}

func (s *Shop) providerPage(w http.ResponseWriter, r *http.Request) error {
	o, err := s.orderOf(r)
	if err != nil {
		return err
	}
	s.showProvider(w, r, http.StatusOK, providerView{Order: o, Deal: usual})
	return nil
}

// orderOf is the order that the path names.
func (s *Shop) orderOf(r *http.Request) (record, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return record{}, errNoOrder
	}
	return s.find(r.Context(), id)
}

func (s *Shop) showProvider(w http.ResponseWriter, r *http.Request, status int, data providerView) {
	v := s.view(r, say(langOf(r), "provider_title"))
	data.Price, data.Cents = yuan(v.Lang, data.Order.Cents()), data.Order.Cents()
	data.Account, data.Secret = s.provider.Keys.Account, s.provider.Keys.Secret
	v.Data = data
	s.render(w, status, "provider", v)
}

// firePage sends the callbacks and shows what the shop has answered. It needs no key:
// however often it is sent, it is the same payment.
func (s *Shop) firePage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	o, err := s.orderOf(r)
	if err == nil {
		err = s.fire(w, r, o)
	}
	switch _, refused := asInput(err); {
	case errors.Is(err, errNoOrder):
		s.message(w, r, http.StatusNotFound, "none", "none_say")
	case refused:
		s.message(w, r, http.StatusBadRequest, "invalid", "provider_bad")
	case err != nil:
		s.failed(w, r, err)
	}
}

func (s *Shop) fire(w http.ResponseWriter, r *http.Request, o record) error {
	d, err := readDeal(r)
	if err != nil {
		return err
	}
	err = s.store.Tx(r.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return s.tellService(ctx, tx, o.ID, couponService, d.Coupon)
	})
	if err != nil {
		return err
	}
	here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return errors.New("shop: the address of this server is not known")
	}
	sender := s.provider
	if d.Forged {
		sender = s.forger
	}
	s.cuts.set(o.ID, d.Drop)
	defer s.cuts.set(o.ID, 0)
	plan := callbacks.Plan{
		URL:    "http://" + here.String() + "/callbacks/epay",
		Notice: callbacktest.Notice{Order: strconv.FormatInt(o.ID, 10), Amount: o.Cents()},
		Times:  d.Times, Gap: time.Duration(d.Gap) * time.Millisecond, Parallel: d.AtOnce, Patience: patience,
	}
	if d.AtOnce {
		plan.Gap = 0
	}
	shots, err := callbacks.Fire(r.Context(), sender, plan)
	if err != nil {
		return err
	}
	if o, err = s.find(r.Context(), o.ID); err != nil { // the callbacks have changed its status
		return err
	}
	s.showProvider(w, r, http.StatusOK, providerView{Order: o, Deal: d, Shots: shots})
	return nil
}

func readDeal(r *http.Request) (d deal, err error) {
	if err := r.ParseForm(); err != nil {
		return d, bodyError(err)
	}
	for _, f := range []struct {
		name        string
		least, most int
		into        *int
	}{{"times", 1, maxTimes, &d.Times}, {"gap", 0, maxGap, &d.Gap}, {"drop", 0, maxTimes, &d.Drop}} {
		n, ok := number(r.PostFormValue(f.name), f.least, f.most)
		if !ok {
			return d, &inputError{f.name, "provider_bad"}
		}
		*f.into = n
	}
	d.AtOnce, d.Forged = r.PostFormValue("order") == "all", r.PostFormValue("signature") == "wrong"
	if d.Coupon = r.PostFormValue(couponService); !slices.Contains(moods, d.Coupon) {
		return d, &inputError{couponService, "provider_bad"}
	}
	return d, nil
}

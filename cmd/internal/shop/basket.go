package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"github.com/nebis-dev/nebis/nebishttp"
)

// A basket is what a visitor has put together. Its number grows with each order
// and its version with each change: together they name what is ordered, in
// however many tabs it is shown.
type basket struct {
	Number, Version, Qty int
}

// key is the key of this basket's order. It is made from the basket and not
// anew for each page: two tabs of one basket are one order.
func (b basket) key() string { return nebishttp.BusinessKey("basket", b.Number, b.Version) }

// basketItem is what goes into a basket.
const basketItem = "tea"

// maxBaskets is more than anybody fills, and a column holds it.
const maxBaskets = 1 << 30

// errStale: the basket is not what its page showed.
var errStale = errors.New("shop: the basket has changed")

// asker is the database or a transaction in it.
type asker interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func (s *Shop) basketOf(ctx context.Context, q asker, visitor string) (b basket, err error) {
	err = q.QueryRowContext(ctx, s.sql.q(`SELECT number, version, qty FROM nebis_demo_baskets WHERE visitor = ?`), visitor).
		Scan(&b.Number, &b.Version, &b.Qty)
	if errors.Is(err, sql.ErrNoRows) {
		return basket{Number: 1}, nil
	}
	return b, err
}

// fillBasket is the handler of both buttons, one more and empty.
func (s *Shop) fillBasket(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	more := r.PostFormValue("more")
	if _, err := tx.ExecContext(r.Context(), s.sql.q(s.sql.addBasket), visitorOf(r)); err != nil {
		return err
	}
	change := `UPDATE nebis_demo_baskets SET version = version + 1, qty = 0 WHERE visitor = ?`
	if more == "1" {
		change = fmt.Sprintf(`UPDATE nebis_demo_baskets SET version = version + 1, qty = qty + 1 WHERE visitor = ? AND qty < %d`, maxQty)
	}
	if _, err := tx.ExecContext(r.Context(), s.sql.q(change), visitorOf(r)); err != nil {
		return err
	}
	nebishttp.SeeOther(w, r, "/basket")
	return nil
}

// placeBasket orders the basket that the form shows.
func (s *Shop) placeBasket(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	nth, known := number(r.PostFormValue("number"), 1, maxBaskets)
	version, readable := number(r.PostFormValue("version"), 0, maxBaskets)
	qty, err := 0, errStale
	if known && readable {
		qty, err = s.takeBasket(r.Context(), tx, visitorOf(r), nth, version)
	}
	if errors.Is(err, errStale) {
		nebishttp.Discard(w) // nothing was ordered, and the page shows what is in it now
		s.tell(r.Context(), notice{Text: "basket_changed"})
		nebishttp.SeeOther(w, r, "/basket")
		return nil
	}
	if err != nil {
		return err
	}
	o, err := s.place(r.Context(), tx, visitorOf(r), wish{item: basketItem, qty: qty}, sentBy(r))
	if err != nil {
		return err
	}
	s.tell(r.Context(), notice{"flash_ordered", o.ID})
	nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", o.ID))
	return nil
}

// takeBasket begins the visitor's next basket and returns what was in this one.
// The condition needs no key: a basket that has been ordered is another one.
func (s *Shop) takeBasket(ctx context.Context, tx *sql.Tx, visitor string, nth, version int) (qty int, err error) {
	b, err := s.basketOf(ctx, tx, visitor)
	if err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, s.sql.q(`UPDATE nebis_demo_baskets SET number = number + 1, version = 0, qty = 0
		WHERE visitor = ? AND number = ? AND version = ? AND qty = ? AND qty > 0`), visitor, nth, version, b.Qty)
	if err != nil {
		return 0, err
	}
	switch n, err := res.RowsAffected(); {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, errStale
	}
	return b.Qty, nil
}

// basketView is the page of the basket: three forms.
type basketView struct {
	basket
	Notice             *notice
	More, Empty, Order form
}

func (s *Shop) basketPage(w http.ResponseWriter, r *http.Request) error {
	b, err := s.basketOf(r.Context(), s.db, visitorOf(r))
	if err != nil {
		return err
	}
	data := basketView{basket: b, Notice: s.told(r)}
	data.More.Field, data.Empty.Field = nebishttp.Field(w, r), nebishttp.Field(w, r)
	data.Order.Key = b.key()
	data.Order.Field = nebishttp.FieldKey(w, r, data.Order.Key)
	v := s.view(r, say(langOf(r), "basket_title"))
	v.Nav, v.Data = "basket", data
	s.render(w, http.StatusOK, "basket", v)
	return nil
}

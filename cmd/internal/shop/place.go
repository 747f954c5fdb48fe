package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nebis-dev/nebis/nebishttp"
)

// The three handlers that take orders. A real shop would also ask for a CSRF
// token; this one leaves it out because it has no accounts and everybody may
// order.

// placeForm takes an order from the protected form. It runs once for each key;
// what it answers is what every sender gets.
func (s *Shop) placeForm(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	wish, err := readWish(r)
	if input, ok := asInput(err); ok {
		s.formAgain(w, r, true, input) // a 400: rolled back, the key stays free
		return nil
	}
	o, err := s.place(r.Context(), tx, visitorOf(r), wish, sentBy(r))
	switch {
	case errors.Is(err, errSoldOut):
		nebishttp.Keep(w) // a result like any other: whoever asks again gets it again
		s.message(w, r, http.StatusConflict, "out", "out_say", "out_kept")
	case err != nil:
		return err
	case wish.fail == "500":
		s.message(w, r, http.StatusInternalServerError, "fail", "fail_free")
	default:
		s.tell(r.Context(), notice{"flash_ordered", o.ID})
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", o.ID))
	}
	return nil
}

// sentBy tells whether a request to a protected handler has a key.
func sentBy(r *http.Request) sent {
	if key, err := nebishttp.KeyOf(r); err == nil && key != "" {
		return keyed
	}
	return keyless
}

// placeAPI is the same for programs.
func (s *Shop) placeAPI(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	wish, err := readWish(r)
	if input, ok := asInput(err); ok {
		badRequest(w, input)
		return nil
	}
	o, err := s.place(r.Context(), tx, visitorOf(r), wish, sentBy(r))
	switch {
	case errors.Is(err, errSoldOut):
		nebishttp.Keep(w)
		writeProblem(w, soldOut)
	case err != nil:
		return err
	case wish.fail == "500":
		writeProblem(w, failed)
	default:
		w.Header().Set("Location", fmt.Sprintf("/api/orders/%d", o.ID))
		writeJSON(w, http.StatusCreated, o)
	}
	return nil
}

// naiveDeadline bounds one order without protection.
const naiveDeadline = 30 * time.Second

// placeNaive takes an order as most sites do: in a transaction, with a redirect
// afterwards, and blind to repeats. Like them it goes on when the browser hangs
// up, which a browser does to the first request of a double click.
func (s *Shop) placeNaive(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	wish, err := readWish(r)
	if input, ok := asInput(err); ok {
		s.formAgain(w, r, false, input)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), naiveDeadline)
	defer cancel()
	o, err := s.orderNaively(ctx, visitorOf(r), wish)
	switch {
	case errors.Is(err, errSoldOut):
		s.message(w, r, http.StatusConflict, "out", "out_say")
	case err != nil:
		s.failed(w, r, err)
	default:
		nebishttp.SeeOther(w, r, fmt.Sprintf("/orders/%d", o.ID))
	}
}

func (s *Shop) orderNaively(ctx context.Context, visitor string, wish wish) (o order, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return o, err
	}
	defer tx.Rollback()
	if o, err = s.place(ctx, tx, visitor, wish, unprotected); err != nil {
		return o, err
	}
	if wish.fail == "500" {
		return o, errOnPurpose
	}
	return o, tx.Commit()
}

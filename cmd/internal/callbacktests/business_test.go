package callbacktests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// atOnceAndAgain sends a notice three times at once, and once more.
func (s *shop) atOnceAndAgain(n callbacktest.Notice) {
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { s.want(n, s.acknowledged()) })
	}
	all.Wait()
	s.want(n, s.acknowledged())
}

// Several notices of one payment: all pass, and it counts once.
func TestNoticesOfOnePaymentInAnyOrder(t *testing.T) {
	pending, paid, closed := callbacktest.Notice{State: callback.Pending}, callbacktest.Notice{}, callbacktest.Notice{State: callback.Closed}
	again := callbacktest.Notice{Delivery: "another"}
	for name, c := range map[string]struct {
		notices []callbacktest.Notice
		want    string
	}{
		"as they should come": {[]callbacktest.Notice{pending, paid, again, closed}, "paid 88 0"},
		"late":                {[]callbacktest.Notice{paid, pending, closed, again}, "paid 88 0"},
		"closed first":        {[]callbacktest.Notice{closed, pending, paid}, "closed 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, s *shop) {
				deliveries := map[string]bool{} // epay has no other notice of the same status
				for _, n := range c.notices {
					s.atOnceAndAgain(n)
					e, err := s.event(n)
					if err != nil {
						t.Fatal(err)
					}
					deliveries[e.Delivery] = true
				}
				want := c.want
				if senders[s.name].lacks[closes] != "" {
					want = "paid 88 0"
				}
				s.order(want)
				s.ran(int64(len(deliveries)))
			})
		})
	}
}

// Alipay's notice of a partial refund says TRADE_SUCCESS, too, and what was given back
// in all.
func TestPartialRefundsInAnyOrder(t *testing.T) {
	paid := callbacktest.Notice{}
	first := callbacktest.Notice{State: callback.Refunded, Refund: "R1", Refunded: 800}
	second := callbacktest.Notice{State: callback.Refunded, Refund: "R2", Refunded: 1000}
	told := first // by another notice
	told.Delivery = "told again"
	for name, notices := range map[string][]callbacktest.Notice{
		"as they should come": {paid, first, paid, second, first, told, second},
		"late":                {paid, second, told, first},
		"before the payment":  {first, second, paid, told},
	} {
		t.Run(name, func(t *testing.T) {
			where(t, refunds, func(_ *testing.T, s *shop) {
				for _, n := range notices {
					if s.sender.Provider.Name == "alipay" && n.Refund == second.Refund {
						n.Refunded += first.Refunded
					}
					s.atOnceAndAgain(n)
				}
				s.order("paid 88 1800")
			})
		})
	}
}

// Case 50: each payment has two ways in, which come at the same moment.
func TestTheReturnPageAndTheCallbackAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *shop) {
		var all sync.WaitGroup
		start := make(chan bool)
		all.Go(func() {
			<-start
			s.want(callbacktest.Notice{}, s.acknowledged())
		})
		firsts := make(chan bool, 3)
		for range cap(firsts) {
			all.Go(func() {
				<-start
				first, err := s.comesBack()
				if err != nil {
					t.Error(err)
				}
				firsts <- first
			})
		}
		close(start)
		all.Wait()
		s.order("paid 88 0")
		n := 0
		for range cap(firsts) {
			if <-firsts {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%d return pages have completed the order", n)
		}
		s.want(callbacktest.Notice{Delivery: "another"}, s.acknowledged())
		s.order("paid 88 0")
	})
}

// comesBack is the page that the customer comes back to, which has asked the provider
// whether the order is paid.
func (s *shop) comesBack() (first bool, err error) {
	e, err := s.event(callbacktest.Notice{})
	if err != nil {
		return false, err
	}
	for {
		err = s.store.Tx(s.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			first, err = callback.Once(ctx, s.store, tx, "points", e, s.pay(tx, e))
			return err
		})
		if !errors.Is(err, nebis.ErrTxGone) { // else the loser of a deadlock
			return first, err
		}
	}
}

func (s *shop) event(n callbacktest.Notice) (callback.Event, error) {
	r, err := s.sender.Request(s.url, n)
	if err != nil {
		return callback.Event{}, err
	}
	body, err := readAll(r)
	if err != nil {
		return callback.Event{}, err
	}
	e, err := s.sender.Provider.Read(r, body)
	if err == nil && senders[s.name].unknown {
		e = theirs(e)
	}
	return e, err
}

func TestOnceLeavesWhatFailedUndone(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		once := func(f func(context.Context) error) (first bool, err error) {
			e := callback.Event{Payment: "p", State: callback.Paid, Order: "1001", Amount: 100}
			txErr := s.store.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				first, err = callback.Once(ctx, s.store, tx, "points", e, func(ctx context.Context) error {
					if f != nil {
						return f(ctx)
					}
					return s.pay(tx, e)(ctx)
				})
				return err
			})
			return first, txErr
		}
		// The second is what Once itself takes for done, where the work did not run.
		for _, why := range []error{errShop, fmt.Errorf("another operation: %w", nebis.ErrNotKept)} {
			if first, err := once(func(context.Context) error { return why }); first || !errors.Is(err, why) {
				t.Errorf("%v %v", first, err)
			}
		}
		for i := range 2 {
			if first, err := once(nil); first != (i == 0) || err != nil {
				t.Errorf("%d: %v %v", i, first, err)
			}
		}
		s.order("paid 1 0")
	})
}

// Two events that name no payment, or two refunds of one payment that are told apart by
// nothing, are not one business: neither is done, both are sent again, and a person is
// told.
func TestAnEventThatDoesNotSayForWhatIsNoBusiness(t *testing.T) {
	for want, e := range map[error]callback.Event{
		callback.ErrNoPayment: {State: callback.Paid},
		callback.ErrNoRefund:  {State: callback.Refunded, Payment: "P1001", Refunded: 800},
	} {
		t.Run(want.Error(), func(t *testing.T) {
			one(t, "webhooks", func(t *testing.T, s *shop) { s.refusesAsNoBusiness(e, want) })
		})
	}
}

func (s *shop) refusesAsNoBusiness(says callback.Event, want error) {
	s.t.Helper()
	s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
		e.State, e.Payment, e.Refunded = says.State, says.Payment, says.Refunded
		if e.Business() != "" {
			s.t.Errorf("the business is %q", e.Business())
		}
		_, err := callback.Once(ctx, s.store, tx, "points", e, func(ctx context.Context) error { return s.add(ctx, tx, "1001") })
		if !errors.Is(err, want) {
			s.t.Errorf("%v, want %v", err, want)
		}
		return err
	})
	for _, delivery := range []string{"1", "2"} {
		s.want(callbacktest.Notice{Delivery: delivery}, s.refused(500))
	}
	s.order("pending 0 0")
	s.rows(0)
	if all := s.failures(); len(all) != 2 {
		s.t.Errorf("noted: %+v", all)
	}
}

func TestMoved(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		move := func(query string) (moved bool, err error) {
			txErr := s.store.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				moved, err = callback.Moved(tx.ExecContext(ctx, query))
				return err
			})
			return moved, txErr
		}
		const pay = `UPDATE orders SET status = 'paid' WHERE status = 'pending'`
		for i, want := range []bool{true, false} {
			if moved, err := move(pay); moved != want || err != nil {
				t.Errorf("%d: %v %v", i, moved, err)
			}
		}
		if _, err := move(`INSERT INTO orders VALUES ('1', 'pending', 0, 0), ('2', 'pending', 0, 0)`); !errors.Is(err, callback.ErrMoved) {
			t.Errorf("two rows: %v", err)
		}
		if _, err := move(`UPDATE no_such SET a = 1`); err == nil {
			t.Error("no error for a table that is not there")
		}
	})
}

func noticeOf(order string) callbacktest.Notice { return callbacktest.Notice{Order: order} }

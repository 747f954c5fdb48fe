package callbacktests

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

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
			where(t, states, func(t *testing.T, s *shop) {
				for _, n := range c.notices {
					s.want(n, s.acknowledged())
				}
				s.order(c.want)
				if n := s.runs.Load(); n != int64(len(c.notices)) {
					t.Errorf("%d runs for %d notices", n, len(c.notices))
				}
			})
		})
	}
}

// Alipay's notice of a partial refund says TRADE_SUCCESS, too.
func TestPartialRefunds(t *testing.T) {
	where(t, refunds, func(_ *testing.T, s *shop) {
		first := callbacktest.Notice{State: callback.Refunded, Refund: "R1", Refunded: 800}
		second := callbacktest.Notice{State: callback.Refunded, Refund: "R2", Refunded: 1000}
		sum := "paid 88 1800"
		if s.sender.Provider.Name == "alipay" {
			second.Refunded, sum = 1800, "paid 88 1800" // in all
		}
		for _, n := range []callbacktest.Notice{{}, first, first, {}, second, first, second} {
			s.want(n, s.acknowledged())
		}
		s.order(sum)
	})
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
		if first, err := once(func(context.Context) error { return errShop }); first || !errors.Is(err, errShop) {
			t.Errorf("%v %v", first, err)
		}
		for i := range 2 {
			if first, err := once(nil); first != (i == 0) || err != nil {
				t.Errorf("%d: %v %v", i, first, err)
			}
		}
		s.order("paid 1 0")
	})
}

// Two events that name no payment are not one business: neither is done, both are
// sent again, and a person is told.
func TestAnEventWithoutAPaymentIsNoBusiness(t *testing.T) {
	one(t, "webhooks", func(t *testing.T, s *shop) {
		s.serveAs(func(ctx context.Context, tx *sql.Tx, e callback.Event) error {
			e.State = callback.Paid
			if e.Business() != "" {
				t.Errorf("the business is %q", e.Business())
			}
			_, err := callback.Once(ctx, s.store, tx, "points", e, func(ctx context.Context) error { return s.add(ctx, tx, "1001") })
			if !errors.Is(err, callback.ErrNoPayment) {
				t.Errorf("%v", err)
			}
			return err
		})
		for _, delivery := range []string{"1", "2"} {
			s.want(callbacktest.Notice{Delivery: delivery}, s.refused(500))
		}
		s.order("pending 0 0")
		s.rows(0)
		if all := s.failures(); len(all) != 2 {
			t.Errorf("noted: %+v", all)
		}
	})
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

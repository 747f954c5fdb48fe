package shop

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/nebis-dev/nebis/outbox"
)

// CallTable has the calls to the outside.
const CallTable = "nebis_demo_outbox"

// An errand is what a call says to the other side.
type errand struct {
	Order int64 `json:"order"`
	Cents int64 `json:"cents,omitempty"`
}

// The two services that are called, and the events that tell of their calls.
const (
	couponService = "coupon"
	refundService = "refund"
)

var callOf = map[string]string{couponAdded: couponService, refundAdded: refundService}

// The points that stand in for what has failed for good.
const (
	insteadOfCoupon = 30
	pointsPerYuan   = 10
)

// How the calls are made: with more haste than a real shop, so that people see the
// end of it. A call whose worker has vanished is another's after the lease.
const (
	callLease    = 5 * time.Second
	callPoll     = 2 * time.Second
	callAttempts = 4
	callBackoff  = 500 * time.Millisecond
	callTimeout  = 20 * time.Second
)

func (s *Shop) handleCalls() {
	c := outbox.Call{Attempts: callAttempts, Backoff: callBackoff, MaxBackoff: 4 * callBackoff, Timeout: callTimeout}
	c.Do, c.Compensate = s.trying(s.giveCoupon), s.missCoupon
	s.calls.Handle(couponService, c)
	c.Do, c.Compensate = s.trying(s.giveBack), s.credit
	s.calls.Handle(refundService, c)
}

// Work makes the calls to the outside until ctx has ended and those under way are
// finished. The simulated services are open meanwhile, at an address of their own.
func (s *Shop) Work(ctx context.Context) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.outside = "http://" + ln.Addr().String()
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	defer shut()
	closed := make(chan error, 1)
	go func() { closed <- Serve(open, ln, s.services(), s.log) }()
	err = s.calls.Run(ctx)
	shut()
	return errors.Join(err, <-closed)
}

// trying notes each try of a call, for the page of the order.
func (s *Shop) trying(do func(context.Context, errand, *outbox.Job) (any, error)) func(context.Context, *outbox.Job) (any, error) {
	return func(ctx context.Context, j *outbox.Job) (any, error) {
		var e errand
		if err := j.Decode(&e); err != nil {
			return nil, outbox.Permanent(err)
		}
		result, err := do(ctx, e, j)
		seen := note{What: j.Name, Outcome: "answered", N: j.Attempts}
		if err != nil {
			seen.Outcome, seen.Text = "failed", err.Error()
		}
		s.tally.note(e.Order, seen)
		return result, err
	}
}

// giveCoupon asks for the coupon of an order that was paid. It may run again, with
// the same key.
func (s *Shop) giveCoupon(ctx context.Context, e errand, j *outbox.Job) (any, error) {
	o, err := s.find(ctx, e.Order)
	if err != nil {
		return nil, err
	}
	if o.Status != paid && o.Status != pickedUp {
		return map[string]string{"not asked for": "the order is " + o.Status}, nil
	}
	number, err := s.ask(ctx, j)
	if err != nil {
		return nil, err
	}
	return number, s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.record(ctx, tx, e.Order, couponGiven, 0)
	})
}

// missCoupon is the compensation: points in the coupon's place. It commits together
// with the state of the call, so it happens once.
func (s *Shop) missCoupon(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
	var e errand
	if err := j.Decode(&e); err != nil {
		return err
	}
	o, err := s.findIn(ctx, tx, e.Order)
	if err != nil {
		return err
	}
	if o.Status != paid && o.Status != pickedUp {
		return nil
	}
	if err := s.give(ctx, tx, o.Visitor, insteadOfCoupon); err != nil {
		return err
	}
	return s.record(ctx, tx, e.Order, noCoupon, insteadOfCoupon)
}

// giveBack sends the money of a cancelled order back.
func (s *Shop) giveBack(ctx context.Context, e errand, j *outbox.Job) (any, error) {
	number, err := s.ask(ctx, j)
	if err != nil {
		return nil, err
	}
	return number, s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		moved, err := s.move(ctx, tx, e.Order, refunding, refunded)
		if err != nil || !moved {
			return err
		}
		return s.record(ctx, tx, e.Order, refunded, e.Cents)
	})
}

// credit is the compensation: the money cannot be sent back, and becomes points.
func (s *Shop) credit(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
	var e errand
	if err := j.Decode(&e); err != nil {
		return err
	}
	moved, err := s.move(ctx, tx, e.Order, refunding, credited)
	if err != nil || !moved {
		return err
	}
	o, err := s.findIn(ctx, tx, e.Order)
	if err != nil {
		return err
	}
	points := e.Cents / 100 * pointsPerYuan
	if err := s.give(ctx, tx, o.Visitor, points); err != nil {
		return err
	}
	return s.record(ctx, tx, e.Order, credited, points)
}

// abroad opens a connection for each call: on one that was used before, net/http
// sends a request with a key again by itself, and the tries would not be ours.
var abroad = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask makes one try of a call and returns what the service answers.
func (s *Shop) ask(ctx context.Context, j *outbox.Job) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.outside+"/"+j.Name, bytes.NewReader(j.Payload))
	if err != nil {
		return nil, outbox.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", j.Key)
	res, err := abroad.Do(req)
	if err != nil {
		return nil, errors.New("no answer") // in words for people: it may have arrived
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	switch {
	case err != nil:
		return nil, errors.New("the answer broke off")
	case res.StatusCode == http.StatusUnprocessableEntity:
		return nil, outbox.Permanent(fmt.Errorf("refused: %s", res.Status))
	case res.StatusCode != http.StatusOK:
		return nil, errors.New(res.Status)
	}
	return body, nil
}

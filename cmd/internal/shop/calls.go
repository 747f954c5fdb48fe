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

// The services that are called. There is a simulated one for each.
const (
	couponService   = "coupon"
	withdrawService = "withdraw" // takes a coupon back
	refundService   = "refund"
)

// callOf has the events that tell of a call.
var callOf = map[string]string{couponAdded: couponService, withdrawAdded: withdrawService, refundAdded: refundService}

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
	s.handle(couponService, s.couponCame, s.noCouponCame)
	s.handle(withdrawService, s.couponGone, nil) // fails it for good, a person looks
	s.handle(refundService, s.refundDone, s.refundFailed)
}

// A consequence is what the shop writes down when a call has come to its end.
type consequence func(ctx context.Context, tx *sql.Tx, e errand) error

// handle says what follows when a service has answered, and when it has failed for good.
func (s *Shop) handle(service string, answered, failed consequence) {
	c := outbox.Call{Attempts: callAttempts, Backoff: callBackoff, MaxBackoff: 4 * callBackoff, Timeout: callTimeout}
	c.Do = func(ctx context.Context, j *outbox.Job) (any, error) {
		var e errand
		if err := j.Decode(&e); err != nil {
			return nil, outbox.Permanent(err)
		}
		answer, err := s.ask(ctx, j)
		s.tally.tried(e.Order, j, err)
		if err != nil {
			return nil, err
		}
		// It may run again, should the process die now: then the service says the same.
		return answer, s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return answered(ctx, tx, e) })
	}
	if failed != nil {
		// It commits together with the state of the call, so it happens once.
		c.Compensate = func(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
			var e errand
			if err := j.Decode(&e); err != nil {
				return err
			}
			return failed(ctx, tx, e)
		}
	}
	s.calls.Handle(service, c)
}

// addCall adds a call to the outside in the transaction, and notes which it is.
func (s *Shop) addCall(ctx context.Context, tx *sql.Tx, kind string, e errand) error {
	id, err := s.calls.Add(ctx, tx, callOf[kind], e)
	if err != nil {
		return err
	}
	return s.record(ctx, tx, e.Order, kind, id)
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

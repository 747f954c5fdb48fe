package callback

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Stripe reads the events of a webhook endpoint of Stripe's. secrets are the
// endpoint's (whsec_…), two while one is being rolled.
//
// The identity is the event's (evt_…). Several events tell of one payment
// (payment_intent.succeeded, charge.succeeded, checkout.session.completed): their
// Payment is the same where they name the payment intent, so that [Once] takes them
// for one; but Order may be in one of them only. Have Stripe send one kind, or return
// before Once from those without an order. Of a refund take either charge.refunded, whose Refunded is the sum so far,
// or refund.updated, which tells of one refund. Order is client_reference_id, or
// metadata's order_id or order. An event is acknowledged with 200.
//
// Source: docs.stripe.com/webhooks and docs.stripe.com/api/events/types.
func Stripe(secrets ...string) Provider { return stripe(secrets, time.Now) }

func stripe(secrets []string, now func() time.Time) Provider {
	return Provider{
		Name: "stripe",
		Read: func(r *http.Request, body []byte) (Event, error) {
			if err := stripeSigned(r.Header.Get("Stripe-Signature"), body, secrets, now()); err != nil {
				return Event{}, err
			}
			return stripeEvent(body)
		},
		Acknowledge: func(Event) Answer { return Answer{Status: http.StatusOK} },
	}
}

func stripeSigned(header string, body []byte, secrets []string, now time.Time) error {
	var stamp string
	var sigs [][]byte
	for _, part := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			stamp = value
		case "v1":
			if sig, err := hex.DecodeString(value); err == nil {
				sigs = append(sigs, sig)
			}
		}
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ErrSignature
	}
	message := append([]byte(stamp+"."), body...)
	for _, secret := range secrets {
		want := mac([]byte(secret), message)
		for _, sig := range sigs {
			if secret != "" && hmac.Equal(want, sig) {
				return fresh(seconds, now)
			}
		}
	}
	return ErrSignature
}

type stripeNotice struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Account string `json:"account"`
	Created int64  `json:"created"`
	Data    struct {
		Object stripeObject `json:"object"`
	} `json:"data"`
}

// stripeObject has what the kinds of objects have that tell of payments.
type stripeObject struct {
	ID             string `json:"id"`
	Object         string `json:"object"`
	Status         string `json:"status"`
	PaymentStatus  string `json:"payment_status"` // of a checkout session
	Reference      string `json:"client_reference_id"`
	Intent         ref    `json:"payment_intent"`
	Charge         ref    `json:"charge"`
	Amount         int64  `json:"amount"`
	AmountReceived int64  `json:"amount_received"`
	AmountTotal    int64  `json:"amount_total"`
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Metadata       struct {
		OrderID string `json:"order_id"`
		Order   string `json:"order"`
	} `json:"metadata"`
}

// ref is the identity of another object, which Stripe may have put there whole.
type ref string

func (r *ref) UnmarshalJSON(b []byte) error {
	var whole struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(b, (*string)(r)) == nil {
		return nil
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return err
	}
	*r = ref(whole.ID)
	return nil
}

func stripeEvent(body []byte) (Event, error) {
	var n stripeNotice
	var other *json.UnmarshalTypeError // an object that is none of a payment may have anything
	if err := json.Unmarshal(body, &n); err != nil && !errors.As(err, &other) {
		return Event{}, errNotice
	}
	o := n.Data.Object
	e := Event{
		Account:  n.Account,
		Delivery: n.ID,
		Order:    or(o.Reference, or(o.Metadata.OrderID, o.Metadata.Order)),
		Payment:  or(string(o.Intent), or(string(o.Charge), o.ID)),
		Status:   n.Type,
		State:    stripeState(n.Type, o),
		Amount:   or(o.AmountReceived, or(o.AmountTotal, o.Amount)),
		Currency: strings.ToUpper(o.Currency),
		Body:     body,
	}
	if n.Created != 0 {
		e.Time = time.Unix(n.Created, 0)
	}
	if e.State == Refunded {
		e.Refunded, e.Refund = o.AmountRefunded, o.ID+"/"+strconv.FormatInt(o.AmountRefunded, 10)
		if o.Object == "refund" {
			e.Amount, e.Refunded, e.Refund = 0, o.Amount, o.ID
		}
	}
	return e, nil
}

func stripeState(kind string, o stripeObject) State {
	switch kind {
	case "payment_intent.succeeded", "charge.succeeded", "checkout.session.async_payment_succeeded":
		return Paid
	case "checkout.session.completed":
		if o.PaymentStatus == "unpaid" {
			return Pending // a bank debit, say, which takes days
		}
		return Paid
	case "payment_intent.created", "payment_intent.processing", "payment_intent.requires_action",
		"payment_intent.payment_failed", "charge.pending", "charge.failed":
		return Pending // the customer may try again
	case "payment_intent.canceled", "checkout.session.expired", "checkout.session.async_payment_failed":
		return Closed
	case "charge.refunded":
		return Refunded
	case "refund.created", "refund.updated", "charge.refund.updated":
		if o.Status == "succeeded" {
			return Refunded
		}
	}
	return Other
}

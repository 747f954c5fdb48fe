package callback

import (
	"net/url"
	"time"
)

// State is what a notice says of a payment, in a word that is the same for all
// providers.
type State string

// The states. Other is any notice that is not about one of these.
const (
	Pending  State = "pending"  // not paid yet
	Paid     State = "paid"     // the money is there
	Refunded State = "refunded" // some or all of it was given back
	Closed   State = "closed"   // there will be no payment
	Other    State = "other"
)

// An Event is what a verified callback says.
type Event struct {
	Provider string // Provider.Name
	Account  string // whose notice it is at the provider: app, merchant, shop; may be empty

	// Delivery is the notice's identity, the same each time it is sent.
	Delivery string

	Order   string // the site's own number of the order
	Payment string // the provider's number of the payment
	Refund  string // what tells one refund of a payment from another, see [ErrNoRefund]

	State  State
	Status string // the provider's own word, such as TRADE_SUCCESS

	// Amount is that of the payment, Refunded what was given back of it: with Alipay
	// and charges of Stripe in all (let it only grow: notices come out of order), with
	// WeChat Pay and refunds of Stripe by this one. In the smallest unit of the
	// currency: 12.34 CNY is 1234.
	Amount, Refunded int64
	Currency         string // ISO 4217 in capitals; empty: the notice names no amount

	Time time.Time // of what happened, not of the delivery; zero: not said

	Values url.Values // the fields of a form or query, in the sender's charset
	Body   []byte     // JSON or XML, as it was sent; with WeChat Pay v3 decrypted
}

// Business is the identity of what happened, whichever notice says it: the same for
// every notice that a payment was made, another for each of its refunds. Empty when the
// event names no payment, or tells of a refund and not of which: all such events would
// be taken for one, see [ErrNoPayment] and [ErrNoRefund].
func (e Event) Business() string {
	switch {
	case e.Payment == "", e.State == Refunded && e.Refund == "":
		return ""
	case e.State == Refunded:
		return e.Payment + "/refund/" + e.Refund
	case e.State == Other:
		return e.Payment + "/" + e.Status
	}
	return e.Payment + "/" + string(e.State)
}

// Package callbacktest sends callbacks as the providers do, signed with keys made on
// the spot: for tests of a site's own handlers.
package callbacktest

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/nebis-dev/nebis/callback"
)

// Keys are what a sender signs with. What is empty is made on the spot.
type Keys struct {
	Account string `json:"account,omitempty"` // app_id, mchid or pid
	Secret  string `json:"secret,omitempty"`  // that the site and the sender share
	Private string `json:"private,omitempty"` // RSA, PEM of PKCS #8
}

// Makers make the senders, by the names of their providers.
var Makers = map[string]func(Keys) (*Sender, error){
	"alipay":    Alipay,
	"wechatpay": WeChatPay,
	"epay":      Epay,
	"stripe":    Stripe,
	"webhooks":  StandardWebhooks,
}

// A Notice is what a callback is to say. Empty fields are filled in, the same for the
// same Sender.
type Notice struct {
	Delivery string // identity of the notice; a second one of the same payment has another
	Order    string // the site's number; "1001"
	Payment  string // the provider's number
	Refund   string

	State            callback.State // Paid
	Amount, Refunded int64          // in cents; 8800

	// Subject and Charset are of Alipay's notices: text in that charset, "utf-8".
	Subject, Charset string
}

// A Sender signs as a provider.
type Sender struct {
	// Provider verifies what the sender sends.
	Provider callback.Provider

	// Keys make the same sender again.
	Keys Keys

	// Public is the public key in base64, where the provider has one.
	Public string

	// Settings are what a site has to be told to accept it, by names for people: a
	// public key, a secret.
	Settings []Setting

	// Acknowledged tells whether the provider would send no more after an answer.
	Acknowledged func(status int, body []byte) bool

	request func(url string, n Notice) (*http.Request, error)
}

// A Setting is one thing that a site has to know of a sender.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Request makes the request that says n, signed anew each time: times, nonces and
// signatures differ, and the identity stays.
func (s *Sender) Request(url string, n Notice) (*http.Request, error) {
	return s.request(url, filled(n))
}

func filled(n Notice) Notice {
	fill(&n.Order, "1001")
	fill(&n.Payment, "P"+n.Order)
	if n.State == "" {
		n.State = callback.Paid
	}
	if n.Amount == 0 {
		n.Amount = 8800
	}
	if n.State == callback.Refunded {
		fill(&n.Refund, "R1")
		if n.Refunded == 0 {
			n.Refunded = n.Amount
		}
	}
	fill(&n.Subject, "茶 100 克 + 杯")
	fill(&n.Charset, "utf-8")
	fill(&n.Delivery, fmt.Sprintf("N-%s-%s%s", n.Payment, n.State, n.Refund))
	return n
}

func fill(s *string, with string) {
	if *s == "" {
		*s = with
	}
}

// ok is how most providers are acknowledged.
func ok(status int, _ []byte) bool { return status >= 200 && status < 300 }

// success is how Alipay and its like are.
func success(status int, body []byte) bool {
	return status == http.StatusOK && string(body) == "success"
}

func yuan(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func nonce() string { return rand.Text() }

package callbacktests

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// A sending is a sender as these tests have it, with what is particular to it.
type sending struct {
	*callbacktest.Sender
	change  func(*callbacktest.Notice) // of each notice, before it is sent
	request func(url string, n callbacktest.Notice) (*http.Request, error)
}

func (s sending) Request(url string, n callbacktest.Notice) (*http.Request, error) {
	if s.change != nil {
		s.change(&n)
	}
	if s.request != nil {
		return s.request(url, n)
	}
	return s.Sender.Request(url, n)
}

// What not every sender has.
const (
	probes  = "requests with a wrong signature, sent on purpose"
	states  = "notices of another state of the same order"
	refunds = "notices of a partial refund"
)

const ownProbe = "the provider does not send such requests"

// senders are all of them: how each one's acknowledgement and refusal look, and what it
// does not have, with the reason.
var senders = map[string]struct {
	acknowledged reply
	refused      func(status int) reply
	unknown      bool // its notices are the sender's own
	lacks        map[string]string
	make         func(callbacktest.Keys) (sending, error)
}{
	"alipay":     {acknowledged: reply{200, "success"}, refused: saying("fail"), lacks: map[string]string{probes: ownProbe}, make: as(callbacktest.Alipay)},
	"alipay-gbk": {acknowledged: reply{200, "success"}, refused: saying("fail"), lacks: map[string]string{probes: ownProbe}, make: inGBK},
	"wechatpay":  {acknowledged: reply{204, ""}, refused: weChatSays, make: as(callbacktest.WeChatPay)},
	"epay": {acknowledged: reply{200, "success"}, refused: saying("fail"), lacks: map[string]string{
		probes: ownProbe, states: "it tells of payments only", refunds: "it tells of payments only",
	}, make: as(callbacktest.Epay)},
	"stripe":   {acknowledged: reply{200, ""}, refused: saying(""), lacks: map[string]string{probes: ownProbe}, make: as(callbacktest.Stripe)},
	"webhooks": {acknowledged: reply{204, ""}, refused: saying(""), unknown: true, lacks: map[string]string{probes: ownProbe}, make: as(callbacktest.StandardWebhooks)},
	"own": {acknowledged: reply{202, `{"got":true}`}, refused: func(status int) reply { return reply{status, `{"got":false}`} },
		lacks: map[string]string{probes: ownProbe}, make: own},
}

func as(make func(callbacktest.Keys) (*callbacktest.Sender, error)) func(callbacktest.Keys) (sending, error) {
	return func(k callbacktest.Keys) (sending, error) {
		s, err := make(k)
		return sending{Sender: s}, err
	}
}

// inGBK has Alipay send the name of the goods in GBK: 茶 100 克.
func inGBK(k callbacktest.Keys) (sending, error) {
	s, err := callbacktest.Alipay(k)
	return sending{Sender: s, change: func(n *callbacktest.Notice) { n.Subject, n.Charset = "\xb2\xe8 100 \xbf\xcb", "GBK" }}, err
}

// own is a provider of a site's own: check, identity and answers are functions.
func own(k callbacktest.Keys) (sending, error) {
	k.Secret = or(k.Secret, rand.Text())
	sign := func(body []byte) string {
		h := hmac.New(sha256.New, []byte(k.Secret))
		h.Write(body)
		return hex.EncodeToString(h.Sum(nil))
	}
	answers := func(status int, body string) callback.Answer {
		return callback.Answer{Status: status, Type: "application/json", Body: body}
	}
	return sending{Sender: &callbacktest.Sender{
		Keys:         k,
		Acknowledged: func(status int, _ []byte) bool { return status == 202 },
		Provider: callback.Provider{
			Name: "own",
			Read: func(r *http.Request, body []byte) (e callback.Event, err error) {
				if !hmac.Equal([]byte(sign(body)), []byte(r.Header.Get("Own-Signature"))) {
					return e, callback.ErrSignature
				}
				return e, json.Unmarshal(body, &e)
			},
			Acknowledge: func(callback.Event) callback.Answer { return answers(202, `{"got":true}`) },
			Refuse:      func(status int) callback.Answer { return answers(status, `{"got":false}`) },
		},
	}, request: func(url string, n callbacktest.Notice) (*http.Request, error) {
		body, err := json.Marshal(ownNotice(n))
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err == nil {
			r.Header.Set("Own-Signature", sign(body))
		}
		return r, err
	}}, nil
}

func ownNotice(n callbacktest.Notice) callback.Event {
	e := callback.Event{Order: or(n.Order, "1001"), Refund: n.Refund, State: or(n.State, callback.Paid), Amount: or(n.Amount, 8800), Refunded: n.Refunded}
	e.Payment = or(n.Payment, "P"+e.Order)
	e.Delivery = or(n.Delivery, "N-"+e.Payment+"-"+string(e.State)+e.Refund)
	return e
}

func or[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}

func saying(text string) func(int) reply {
	return func(status int) reply { return reply{status, text} }
}

func weChatSays(status int) reply {
	return reply{status, `{"code":"FAIL","message":"` + http.StatusText(status) + `"}`}
}

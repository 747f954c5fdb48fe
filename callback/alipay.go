package callback

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Alipay reads the notices of an app of Alipay's (异步通知), signed with RSA2. The key
// is Alipay's, not the app's own: see [PublicKey].
//
// A notice is acknowledged with the body "success"; anything else, even with status
// 200, is not an acknowledgement, and gets it sent again: 7 times in 25 hours. The
// identity is notify_id, which stays over these. A partial refund comes as one more
// TRADE_SUCCESS: its State is Refunded. Where a notice is in GBK, so are its Values:
// the signature is over the bytes as they came.
//
// The page that the customer comes back to gets no trade_status, so its State is
// Other, and Alipay says not to take it for a payment: ask alipay.trade.query there.
//
// Source: opendocs.alipay.com, 异步通知说明 and 验签.
func Alipay(appID string, key *rsa.PublicKey) Provider {
	read := func(query string) (Event, error) {
		v, err := fields(query)
		if err != nil {
			return Event{}, err
		}
		if err := alipaySigned(v, key); err != nil {
			return Event{}, err
		}
		if v.Get("app_id") != appID {
			return Event{}, fmt.Errorf("%w: it is of another app", ErrSignature)
		}
		return alipayEvent(v)
	}
	return Provider{
		Name: "alipay",
		Read: func(_ *http.Request, body []byte) (Event, error) {
			return read(string(body))
		},
		Return:      func(r *http.Request) (Event, error) { return read(r.URL.RawQuery) },
		Acknowledge: saying("success"),
		Refuse:      refusing("fail"),
	}
}

// alipaySigned checks the signature over all fields but two. Alipay's libraries
// differ in whether a field without a value counts; it can say nothing either way.
func alipaySigned(v url.Values, key *rsa.PublicKey) error {
	if t := v.Get("sign_type"); t != "RSA2" {
		return fmt.Errorf("%w: sign_type is %.10q, RSA2 is wanted", ErrSignature, t)
	}
	for _, empty := range []bool{true, false} {
		text := joined(v, empty, "sign", "sign_type")
		if signedSHA256(key, []byte(text), v.Get("sign")) == nil {
			return nil
		}
	}
	return ErrSignature
}

func alipayEvent(v url.Values) (Event, error) {
	e := Event{
		Account:  v.Get("app_id"),
		Delivery: v.Get("notify_id"),
		Order:    v.Get("out_trade_no"),
		Payment:  v.Get("trade_no"),
		Status:   v.Get("trade_status"),
		State:    Other,
		Values:   v,
	}
	switch e.Status {
	case "WAIT_BUYER_PAY":
		e.State = Pending
	case "TRADE_SUCCESS", "TRADE_FINISHED":
		e.State = Paid
	case "TRADE_CLOSED":
		e.State = Closed
	}
	var err error
	if amount := v.Get("total_amount"); amount != "" {
		e.Currency = "CNY"
		if e.Amount, err = cents(amount); err != nil {
			return Event{}, err
		}
	}
	if back := v.Get("refund_fee"); back != "" {
		if e.Refunded, err = cents(back); err != nil {
			return Event{}, err
		}
	}
	if e.Refunded > 0 || v.Get("gmt_refund") != "" {
		e.State, e.Refund = Refunded, v.Get("out_biz_no")
		if e.Refund == "" && e.Refunded > 0 {
			e.Refund = strconv.FormatInt(e.Refunded, 10) // in all, so it grows with each refund
		}
	}
	for _, name := range []string{"gmt_refund", "gmt_close", "gmt_payment", "timestamp"} {
		if t, err := time.ParseInLocation("2006-01-02 15:04:05", cut(v.Get(name), 19), china); err == nil {
			e.Time = t
			break
		}
	}
	return e, nil
}

// china is the zone of Alipay's times; it has no daylight-saving time.
var china = time.FixedZone("UTC+8", 8*60*60)

package callback

import (
	"crypto/md5" //nolint:gosec // what the family signs with
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// Epay reads the notices of the epay family (易支付 and its like): a GET, or a POST of
// a form, whose fields are signed with MD5 and a secret key. pid is the merchant's
// number there.
//
// The notices have no identity of their own: it is trade_no and trade_status. The page
// that the customer comes back to gets the same fields. MD5 with the key behind the
// text is weak, and all that the family has: ask its API for orders of value.
func Epay(pid, key string) Provider {
	read := func(query string) (Event, error) {
		v, err := fields(query)
		if err != nil {
			return Event{}, err
		}
		sum := md5.Sum([]byte(joined(v, false, "sign", "sign_type") + key)) //nolint:gosec // see above
		sign := strings.ToLower(v.Get("sign"))
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(sign)) != 1 || v.Get("pid") != pid {
			return Event{}, ErrSignature
		}
		e := Event{
			Account:  pid,
			Delivery: v.Get("trade_no") + "+" + v.Get("trade_status"),
			Order:    v.Get("out_trade_no"),
			Payment:  v.Get("trade_no"),
			Status:   v.Get("trade_status"),
			State:    Other,
			Currency: "CNY",
			Values:   v,
		}
		if e.Payment == "" {
			return Event{}, errFields
		}
		if e.Status == "TRADE_SUCCESS" {
			e.State = Paid
		}
		e.Amount, err = cents(v.Get("money"))
		return e, err
	}
	return Provider{
		Name: "epay",
		Read: func(r *http.Request, body []byte) (Event, error) {
			if r.Method == http.MethodPost {
				return read(string(body))
			}
			return read(r.URL.RawQuery)
		},
		Return: func(r *http.Request) (Event, error) {
			e, err := read(r.URL.RawQuery)
			e.Delivery = ""
			return e, err
		},
		Acknowledge: saying("success"),
		Refuse:      refusing("fail"),
	}
}

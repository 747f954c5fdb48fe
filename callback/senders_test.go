package callback_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// senders are two of each kind, with keys of their own.
func senders(t *testing.T) map[string][2]*callbacktest.Sender {
	t.Helper()
	all := map[string][2]*callbacktest.Sender{}
	for name, make := range callbacktest.Makers {
		one, err := make(callbacktest.Keys{})
		if err != nil {
			t.Fatal(err)
		}
		other, err := make(callbacktest.Keys{})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = [2]*callbacktest.Sender{one, other}
	}
	return all
}

func request(t *testing.T, s *callbacktest.Sender, n callbacktest.Notice) (*http.Request, []byte) {
	t.Helper()
	r, err := s.Request("http://site.test/callback", n)
	if err != nil {
		t.Fatal(err)
	}
	if r.Body == nil {
		return r, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, body
}

func TestWhatEachSenderSaysIsRead(t *testing.T) {
	notices := map[string]callbacktest.Notice{
		"paid 7/P7: 8800 CNY, 0 back, ":       {Order: "7", Payment: "P7"},
		"pending 7/P7: 8800 CNY, 0 back, ":    {Order: "7", Payment: "P7", State: callback.Pending},
		"closed 7/P7: 8800 CNY, 0 back, ":     {Order: "7", Payment: "P7", State: callback.Closed},
		"refunded 7/P7: 8800 CNY, 1 back, R2": {Order: "7", Payment: "P7", State: callback.Refunded, Refunded: 1, Refund: "R2"},
	}
	for name, two := range senders(t) {
		for want, n := range notices {
			r, body := request(t, two[0], n)
			e, err := two[0].Provider.Read(r, body)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := fmt.Sprintf("%s %s/%s: %d %s, %d back, %s", e.State, e.Order, e.Payment, e.Amount, e.Currency, e.Refunded, e.Refund)
			switch {
			case name == "webhooks":
				want, got = "payment."+string(or(n.State, callback.Paid)), e.Status
			case name == "epay" && n.State != "":
				want, got = "other TRADE_"+strings.ToUpper(string(n.State)), string(e.State)+" "+e.Status
			case name == "stripe" && n.State == callback.Refunded:
				want = "refunded 7/P7: 0 CNY, 1 back, R2"
			}
			if got != want || e.Delivery == "" {
				t.Errorf("%s: got %q, want %q (%q)", name, got, want, e.Delivery)
			}
		}
	}
}

func or(s, otherwise callback.State) callback.State {
	if s == "" {
		return otherwise
	}
	return s
}

// The identity stays over the deliveries, and the business over the notices of one
// payment; the rest differs.
func TestTheIdentityStaysOverDeliveries(t *testing.T) {
	for name, two := range senders(t) {
		read := func(n callbacktest.Notice) callback.Event {
			r, body := request(t, two[0], n)
			e, err := two[0].Provider.Read(r, body)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return e
		}
		first, again, other := read(callbacktest.Notice{}), read(callbacktest.Notice{}), read(callbacktest.Notice{Delivery: "another"})
		if first.Delivery != again.Delivery || first.Account != again.Account {
			t.Errorf("%s: %q, then %q", name, first.Delivery, again.Delivery)
		}
		if name != "epay" && first.Delivery == other.Delivery || name != "webhooks" && first.Business() != other.Business() {
			t.Errorf("%s: another notice: %q %q", name, other.Delivery, other.Business())
		}
	}
}

func TestWhatIsForgedIsRefused(t *testing.T) {
	for name, two := range senders(t) {
		r, body := request(t, two[1], callbacktest.Notice{})
		if e, err := two[0].Provider.Read(r, body); !errors.Is(err, callback.ErrSignature) {
			t.Errorf("%s: signed by somebody else: %v %v", name, e, err)
		}
		for i, change := range changes(r) {
			r, body := request(t, two[0], callbacktest.Notice{})
			if _, err := two[0].Provider.Read(r, body); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r, body = change(r, body)
			if e, err := two[0].Provider.Read(r, body); err == nil {
				t.Errorf("%s: change %d is taken: %+v", name, i, e)
			}
		}
	}
}

var cutSign = regexp.MustCompile(`(\bsign=[^&]*)[^&]{8}`)

// changes are of a byte of the body or query, of each header in turn, and of a field.
func changes(r *http.Request) []func(*http.Request, []byte) (*http.Request, []byte) {
	all := []func(*http.Request, []byte) (*http.Request, []byte){
		func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "88.00", "98.00", 1)
			if len(b) > 0 {
				b[len(b)/2] ^= 1
			}
			return r, b
		},
		func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.URL.RawQuery += "&extra=1"
			return r, append(b, "&extra=1"...)
		},
		func(r *http.Request, _ []byte) (*http.Request, []byte) {
			r.URL.RawQuery = ""
			return r, nil
		},
	}
	if r.Header.Get("Content-Type") != "application/json" { // the signature is a field
		all = append(all, func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.URL.RawQuery = cutSign.ReplaceAllString(r.URL.RawQuery, "$1")
			return r, cutSign.ReplaceAll(b, []byte("$1"))
		})
	}
	for name := range r.Header {
		if name == "Content-Type" || name == "Wechatpay-Signature-Type" {
			continue
		}
		all = append(all, func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.Header.Set(name, r.Header.Get(name)+"1")
			return r, b
		}, func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.Header.Del(name)
			return r, b
		}, func(r *http.Request, b []byte) (*http.Request, []byte) {
			r.Header.Set(name, r.Header.Get(name)[:len(r.Header.Get(name))-4]) // hexadecimal and base64 stay so
			return r, b
		})
	}
	return all
}

// One key may sign for several apps or merchants: a notice is of one.
func TestANoticeOfAnotherAccountIsRefused(t *testing.T) {
	for _, name := range []string{"alipay", "wechatpay", "epay"} {
		s := senders(t)[name][0]
		keys := s.Keys
		keys.Account = "another"
		other, err := callbacktest.Makers[name](keys)
		if err != nil {
			t.Fatal(err)
		}
		r, body := request(t, other, callbacktest.Notice{})
		if e, err := s.Provider.Read(r, body); !errors.Is(err, callback.ErrSignature) {
			t.Errorf("%s: %+v %v", name, e, err)
		}
	}
}

// WeChat Pay sends such requests to see whether the signature is looked at.
func TestProbesAreRefused(t *testing.T) {
	s := senders(t)["wechatpay"][0]
	r, body := request(t, s, callbacktest.Notice{})
	r.Header.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+r.Header.Get("Wechatpay-Signature"))
	if e, err := s.Provider.Read(r, body); !errors.Is(err, callback.ErrSignature) {
		t.Errorf("%+v %v", e, err)
	}
}

// GBK goes through as it is: the signature is over its bytes.
func TestAlipayInGBK(t *testing.T) {
	s := senders(t)["alipay"][0]
	gbk := "\xb2\xe8 100 \xbf\xcb" // 茶 100 克
	r, body := request(t, s, callbacktest.Notice{Subject: gbk, Charset: "GBK"})
	e, err := s.Provider.Read(r, body)
	if err != nil || e.Values.Get("subject") != gbk || e.Values.Get("charset") != "GBK" {
		t.Errorf("%v %v", e, err)
	}
}

func TestAlipaysReturnPage(t *testing.T) {
	s := senders(t)["alipay"][0]
	_, body := request(t, s, callbacktest.Notice{Order: "7"})
	r := &http.Request{URL: &url.URL{RawQuery: string(body)}}
	if e, err := s.Provider.Return(r); err != nil || e.Order != "7" {
		t.Errorf("%v %v", e, err)
	}
	r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "out_trade_no=7", "out_trade_no=8", 1)
	if _, err := s.Provider.Return(r); !errors.Is(err, callback.ErrSignature) {
		t.Error(err)
	}
}

func TestKeysMakeTheSameSenderAgain(t *testing.T) {
	for name, two := range senders(t) {
		again, err := callbacktest.Makers[name](two[0].Keys)
		if err != nil {
			t.Fatal(err)
		}
		r, body := request(t, again, callbacktest.Notice{})
		if _, err := two[0].Provider.Read(r, body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, s := range again.Settings {
			if s != two[0].Settings[i] || s.Value == "" {
				t.Errorf("%s: %v, then %v", name, two[0].Settings[i], s)
			}
		}
	}
}

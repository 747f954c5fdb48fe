package callback

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func at(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }

func posted(body string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/callback", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// The example of the specification.
func TestTheVectorOfStandardWebhooks(t *testing.T) {
	const secret, id, stamp, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	const sign = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	for name, c := range map[string]struct {
		secrets  []string
		id, sign string
		body     string
		now      int64
		want     error
	}{
		"as it stands":          {[]string{secret}, id, sign, body, 1614265330, nil},
		"one of two secrets":    {[]string{"whsec_AAAA", secret}, id, sign, body, 1614265330, nil},
		"one of two signatures": {[]string{secret}, id, "v1,AAAA " + sign, body, 1614265330, nil},
		"at the edge":           {[]string{secret}, id, sign, body, 1614265330 + 300, nil},
		"too old":               {[]string{secret}, id, sign, body, 1614265330 + 301, ErrStale},
		"of the future":         {[]string{secret}, id, sign, body, 1614265330 - 301, ErrStale},
		"another body":          {[]string{secret}, id, sign, body + " ", 1614265330, ErrSignature},
		"another identity":      {[]string{secret}, id + "x", sign, body, 1614265330, ErrSignature},
		"another version":       {[]string{secret}, id, strings.Replace(sign, "v1,", "v1a,", 1), body, 1614265330, ErrSignature},
		"no signature":          {[]string{secret}, id, "", body, 1614265330, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := standardWebhooks("x", c.secrets, at(c.now))
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Read(posted(c.body, "webhook-id", c.id, "webhook-timestamp", stamp, "webhook-signature", c.sign), []byte(c.body))
			if !errors.Is(err, c.want) || err == nil && e.Delivery != id {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

func TestStandardWebhooksWithAPublicKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p, err := standardWebhooks("x", []string{"whpk_" + base64.StdEncoding.EncodeToString(public)}, at(100))
	if err != nil {
		t.Fatal(err)
	}
	sign := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("id.100.{}")))
	if _, err := p.Read(posted("{}", "Webhook-Id", "id", "Webhook-Timestamp", "100", "Webhook-Signature", sign), []byte("{}")); err != nil {
		t.Error(err)
	}
	if _, err := p.Read(posted("{ }", "Webhook-Id", "id", "Webhook-Timestamp", "100", "Webhook-Signature", sign), []byte("{ }")); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

func TestSecretsOfStandardWebhooksThatAreNone(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_!"}, {"whpk_AAAA"}} {
		if _, err := StandardWebhooks("x", secrets...); err == nil {
			t.Errorf("%q is taken", secrets)
		}
	}
}

func TestStripesSignature(t *testing.T) {
	const body, secret = `{ "type": "x", "id": "evt_1" }`, "whsec_test" // its bytes are signed, not what they say
	good := hex.EncodeToString(mac([]byte(secret), []byte("1000."+body)))
	for name, c := range map[string]struct {
		header  string
		secrets []string
		now     int64
		want    error
	}{
		"one":                         {"t=1000,v1=" + good, []string{secret}, 1000, nil},
		"with spaces and others":      {"t=1000, v0=00, v1=" + good, []string{secret}, 1300, nil},
		"of two, while one is rolled": {"t=1000,v1=00,v1=" + good, []string{"other", secret}, 1000, nil},
		"too old":                     {"t=1000,v1=" + good, []string{secret}, 1301, ErrStale},
		"of another time":             {"t=1001,v1=" + good, []string{secret}, 1000, ErrSignature},
		"of an old version":           {"t=1000,v0=" + good, []string{secret}, 1000, ErrSignature},
		"cut":                         {"t=1000,v1=" + good[:32], []string{secret}, 1000, ErrSignature},
		"empty":                       {"t=1000,v1=", []string{secret}, 1000, ErrSignature},
		"of another secret":           {"t=1000,v1=" + good, []string{"other"}, 1000, ErrSignature},
		"no secret":                   {"t=1000,v1=" + hex.EncodeToString(mac(nil, []byte("1000."+body))), []string{""}, 1000, ErrSignature},
		"none":                        {"", []string{secret}, 1000, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := stripe(c.secrets, at(c.now)).Read(posted(body, "Stripe-Signature", c.header), []byte(body))
			if !errors.Is(err, c.want) || err == nil && e.Delivery != "evt_1" {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// What Stripe tells of one payment, in the shapes that it has.
func TestStripesEvents(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","amount":9,"amount_received":8,"currency":"cny","metadata":{"order_id":"7"}}}}`:                         "paid pi_1/paid order 7: 8 CNY, 0 back",
		`{"type":"charge.succeeded","data":{"object":{"id":"ch_1","payment_intent":"pi_1","amount":8,"currency":"usd"}}}`:                                                         "paid pi_1/paid order : 8 USD, 0 back",
		`{"type":"checkout.session.completed","data":{"object":{"id":"cs_1","payment_intent":{"id":"pi_1"},"payment_status":"paid","amount_total":8,"client_reference_id":"7"}}}`: "paid pi_1/paid order 7: 8 , 0 back",
		`{"type":"checkout.session.completed","data":{"object":{"id":"cs_1","payment_intent":null,"payment_status":"unpaid","amount_total":8}}}`:                                  "pending cs_1/pending order : 8 , 0 back",
		`{"type":"charge.refunded","data":{"object":{"id":"ch_1","payment_intent":"pi_1","amount":8,"amount_refunded":3}}}`:                                                       "refunded pi_1/refund/ch_1/3 order : 8 , 3 back",
		`{"type":"refund.updated","data":{"object":{"id":"re_1","object":"refund","status":"succeeded","payment_intent":"pi_1","charge":"ch_1","amount":3}}}`:                     "refunded pi_1/refund/re_1 order : 0 , 3 back",
		`{"type":"refund.created","data":{"object":{"id":"re_1","object":"refund","status":"pending","payment_intent":"pi_1","amount":3}}}`:                                       "other pi_1/refund.created order : 3 , 0 back",
		`{"type":"customer.created","data":{"object":{"id":"cus_1","amount":{"odd":true},"metadata":[]}}}`:                                                                        "other cus_1/customer.created order : 0 , 0 back",
	} {
		e, err := stripeEvent([]byte(body))
		if got := fmt.Sprintf("%s %s order %s: %d %s, %d back", e.State, e.Business(), e.Order, e.Amount, e.Currency, e.Refunded); err != nil || got != want {
			t.Errorf("%s\n got %s %v\nwant %s", body, got, err, want)
		}
	}
	if _, err := stripeEvent([]byte(`{"id":`)); err == nil {
		t.Error("half a body is taken")
	}
}

// What tells one refund of Alipay's from another. A notice without any of it tells of
// none in particular.
func TestAlipaysRefunds(t *testing.T) {
	for query, want := range map[string]string{
		"refund_fee=8.00&out_biz_no=R1&gmt_refund=x": "refunded P/refund/R1: 800 back",
		"refund_fee=8.00&gmt_refund=x":               "refunded P/refund/800: 800 back",
		"refund_fee=18.0":                            "refunded P/refund/1800: 1800 back",
		"gmt_refund=x":                               "refunded : 0 back",
		"refund_fee=0.00&gmt_refund=x":               "refunded : 0 back",
		"refund_fee=0.00":                            "paid P/paid: 0 back",
	} {
		v, err := url.ParseQuery("trade_no=P&trade_status=TRADE_SUCCESS&total_amount=88.00&" + query)
		if err != nil {
			t.Fatal(err)
		}
		e, err := alipayEvent(v)
		if got := fmt.Sprintf("%s %s: %d back", e.State, e.Business(), e.Refunded); err != nil || got != want {
			t.Errorf("%s: got %q %v, want %q", query, got, err, want)
		}
	}
}

func TestCents(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "12": 1200, "12.3": 1230, "12.34": 1234, "0.01": 1, "007.50": 750, "999999999999999.99": 99999999999999999,
		"": -1, ".5": -1, "5.": -1, "1.234": -1, "-1": -1, "+1": -1, "1e3": -1, "1,000.00": -1, "1.-1": -1, "1.2.3": -1, "１": -1, "9999999999999999": -1,
	} {
		got, err := cents(s)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

func TestFieldsThatComeTwiceAreRefused(t *testing.T) {
	for _, query := range []string{"a=1&a=1", "a=1;b=2", "a=%zz"} {
		if v, err := fields(query); err == nil {
			t.Errorf("%q: %v", query, v)
		}
	}
	v := url.Values{"b": {"2"}, "a": {"1"}, "c": {""}, "sign": {"x"}}
	if got := joined(v, true, "sign"); got != "a=1&b=2&c=" {
		t.Error(got)
	}
	if got := joined(v, false, "sign"); got != "a=1&b=2" {
		t.Error(got)
	}
}

func TestPublicKeyReadsTheFormsInWhichProvidersGiveThem(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkix, _ := x509.MarshalPKIXPublicKey(&key.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	bare := base64.StdEncoding.EncodeToString(pkix)
	for name, text := range map[string]string{
		"PEM":              string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})),
		"PEM, PKCS #1":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)})),
		"a certificate":    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})),
		"base64":           bare,
		"base64, in lines": bare[:64] + "\n" + bare[64:] + "\n",
	} {
		if got, err := PublicKey(text); err != nil || !got.Equal(&key.PublicKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, _, _ := ed25519.GenerateKey(rand.Reader)
	der, _ := x509.MarshalPKIXPublicKey(other)
	for name, text := range map[string]string{"nothing": "", "not base64": "?", "no key": "AAAA", "another kind": base64.StdEncoding.EncodeToString(der)} {
		if _, err := PublicKey(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestTextThatIsCutStaysText(t *testing.T) {
	for in, want := range map[string]string{"": "", "abc": "abc", "abcdefg": "abcdef", "茶茶茶": "茶茶", "ab茶茶": "ab茶", "a\x00b": "a\uFFFDb", "a\xff": "a\uFFFD"} {
		if got := cut(in, 6); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

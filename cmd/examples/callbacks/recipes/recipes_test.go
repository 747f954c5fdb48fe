package recipes

import (
	"crypto"
	"crypto/aes"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

const (
	secret   = "It's a Secret to Everybody"
	merchant = "10000100"
)

// recipe is a provider, with a notice that a payment was made and what it says.
type recipe struct {
	p      callback.Provider
	body   string
	header map[string]string
	says   string

	acknowledged, refused string
}

func recipes(t *testing.T) map[string]recipe {
	t.Helper()
	return map[string]recipe{
		// The example of GitHub's documentation.
		"github": {GitHub(secret), "Hello, World!", map[string]string{
			"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
			"X-GitHub-Delivery":   "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-GitHub-Event": "ping",
		}, "72d3162e-cc78-11e3-81ab-4c9367dc0958 other ping", "204 ", "401 "},
		"shopify": shopify("98880550-7158-44d4-b7cd-2c97c8a091b5", "orders/paid", `{"id":820982911946154508,"total_price":"88.00"}`),
		"paypal":  payPal(t),
		"wechatpay-v2": weChatV2(signedXML(map[string]string{
			"return_code": "SUCCESS", "result_code": "SUCCESS", "mch_id": merchant, "transaction_id": "T7", "out_trade_no": "7", "total_fee": "8800", "attach": "",
		})),
	}
}

func shopify(event, topic, body string) recipe {
	return recipe{Shopify(secret), body, map[string]string{
		"X-Shopify-Hmac-Sha256": base64.StdEncoding.EncodeToString(mac(secret, []byte(body))),
		"X-Shopify-Event-Id":    event, "X-Shopify-Topic": topic, "X-Shopify-Shop-Domain": "tea.example",
	}, "98880550-7158-44d4-b7cd-2c97c8a091b5 orders/paid paid orders/paid", "200 ", "401 "}
}

func gitHub(delivery, event, body string) recipe {
	return recipe{GitHub(secret), body, map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac(secret, []byte(body))),
		"X-GitHub-Delivery":   delivery, "X-GitHub-Event": event,
	}, delivery + " other " + event, "204 ", "401 "}
}

func weChatV2(body string) recipe {
	const says = "<xml><return_code><![CDATA[%s]]></return_code><return_msg><![CDATA[%s]]></return_msg></xml>"
	return recipe{
		WeChatPayV2(merchant, secret), body, nil, "T7 paid SUCCESS",
		"200 " + fmt.Sprintf(says, "SUCCESS", "OK"), "401 " + fmt.Sprintf(says, "FAIL", "Unauthorized"),
	}
}

func signedXML(v map[string]string) string {
	var names []string
	for _, name := range []string{"mch_id", "out_trade_no", "result_code", "return_code", "total_fee", "transaction_id"} {
		names = append(names, name+"="+v[name])
	}
	sum := md5.Sum([]byte(strings.Join(names, "&") + "&key=" + secret))
	v["sign"] = strings.ToUpper(hex.EncodeToString(sum[:]))
	return toXML("xml", v)
}

func toXML(root string, v map[string]string) string {
	var b strings.Builder
	b.WriteString("<" + root + ">\n")
	for name, value := range v {
		b.WriteString("<" + name + ">")
		if err := xml.EscapeText(&b, []byte(value)); err != nil {
			panic(err)
		}
		b.WriteString("</" + name + ">\n")
	}
	return b.String() + "</" + root + ">"
}

func payPal(t *testing.T) recipe {
	t.Helper()
	return payPalSigner(t)(`{"id":"WH-7","event_type":"PAYMENT.CAPTURE.COMPLETED","create_time":"2026-12-02T10:00:00Z","resource":{"id":"CAP-7","invoice_id":"7"}}`)
}

// payPalSigner signs with a certificate that a CA of the test has issued for PayPal.
func payPalSigner(t *testing.T) func(body string) recipe {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"messageverificationcerts.paypal.com"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	p := PayPal("HOOK", roots, func(string) (*x509.Certificate, error) { return cert, nil })
	return func(body string) recipe {
		sum := sha256.Sum256(fmt.Appendf(nil, "t-1|2026-12-02T10:00:00Z|HOOK|%d", crc32.ChecksumIEEE([]byte(body))))
		sign, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return recipe{p, body, map[string]string{
			"Paypal-Cert-Url": "https://api.paypal.com/v1/notifications/certs/CERT-1", "Paypal-Transmission-Id": "t-1",
			"Paypal-Transmission-Time": "2026-12-02T10:00:00Z", "Paypal-Transmission-Sig": base64.StdEncoding.EncodeToString(sign),
		}, "WH-7 paid PAYMENT.CAPTURE.COMPLETED", "200 ", "401 "}
	}
}

func (r recipe) request(url string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, url, strings.NewReader(r.body))
	req.RequestURI = ""
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req
}

func TestEachRecipeReadsItsNotice(t *testing.T) {
	for name, r := range recipes(t) {
		e, err := r.p.Read(r.request("/"), []byte(r.body))
		if got := fmt.Sprint(e.Delivery, " ", e.State, " ", e.Status); err != nil || got != r.says {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestEachRecipeRefusesWhatIsChanged(t *testing.T) {
	for name, r := range recipes(t) {
		changed := strings.Replace(strings.Replace(r.body, "8800", "9900", 1), "o", "0", 1)
		if e, err := r.p.Read(r.request("/"), []byte(changed)); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
		for header := range r.header {
			if signature := strings.Contains(header, "Sig") || strings.Contains(header, "Hmac") || strings.HasPrefix(header, "Paypal"); !signature {
				continue
			}
			for _, value := range []string{"", "x", r.header[header] + "x"} {
				req := r.request("/")
				req.Header.Set(header, value)
				if header == "Paypal-Cert-Url" && strings.HasPrefix(value, "https://api.paypal.com/") {
					continue // any address of PayPal's will do
				}
				if _, err := r.p.Read(req, []byte(r.body)); !errors.Is(err, callback.ErrSignature) {
					t.Errorf("%s: %s %q: %v", name, header, value, err)
				}
			}
		}
	}
}

func TestPayPalsCertificateComesFromPayPal(t *testing.T) {
	r := payPal(t)
	for _, url := range []string{
		"http://api.paypal.com/x", "https://paypal.com.evil.test/x", "https://evil.test/.paypal.com", "https://evil.test#.paypal.com",
		"https://evil.test?.paypal.com", "https://user@evil.test:1/.paypal.com", "https://evilpaypal.com/x", "",
	} {
		req := r.request("/")
		req.Header.Set("Paypal-Cert-Url", url)
		if _, err := r.p.Read(req, []byte(r.body)); !errors.Is(err, callback.ErrSignature) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The example of WeChat Pay's page on signatures.
func TestTheVectorOfWeChatPay(t *testing.T) {
	v := map[string]string{
		"appid": "wxd930ea5d5a258f4f", "mch_id": "10000100", "device_info": "1000", "body": "test", "nonce_str": "ibuaiVcKdpRxkhJA", "empty": "",
	}
	const key = "192006250b4c09247ec02edce69f6a2d"
	v["sign"] = "9A0A8659F005D6984697E2CA0A9CF3B7"
	if !signedV2(v, key) {
		t.Error("MD5")
	}
	if signedV2(v, key+"x") {
		t.Error("another key")
	}
}

func TestRefundsOfWeChatPayAreDecrypted(t *testing.T) {
	plain := toXML("root", map[string]string{
		"refund_id": "R1", "refund_status": "SUCCESS", "out_trade_no": "7", "transaction_id": "T7", "total_fee": "8800", "settlement_refund_fee": "800",
	})
	p := WeChatPayV2(merchant, secret)
	read := func(key, text string) (callback.Event, error) {
		body := toXML("xml", map[string]string{"return_code": "SUCCESS", "mch_id": merchant, "req_info": sealed(t, key, text)})
		return p.Read(nil, []byte(body))
	}
	e, err := read(secret, plain)
	if err != nil || e.State != callback.Refunded || e.Refunded != 800 || e.Business() != "T7/refund/R1" {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := read("other", plain); !errors.Is(err, callback.ErrSignature) {
		t.Error(err)
	}
}

// sealed is AES-256 in ECB with PKCS #7, as WeChat Pay does it.
func sealed(t *testing.T, key, text string) string {
	t.Helper()
	sum := md5.Sum([]byte(key))
	block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	b := append([]byte(text), strings.Repeat(string(rune(pad)), pad)...)
	for i := 0; i < len(b); i += aes.BlockSize {
		block.Encrypt(b[i:], b[i:])
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestXMLThatIsNone(t *testing.T) {
	for _, text := range []string{"", "<xml>", "<xml></xml>", "<xml><a>1</a><a>2</a></xml>", "<xml><a>&e;</a></xml>", "{}", `<!DOCTYPE x [<!ENTITY e "1">]><xml><a>&e;</a></xml>`} {
		if v, err := elements([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, v)
		}
	}
}

package callbacktests

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// openssl runs the program that everybody has, with a text at its input.
func openssl(t *testing.T, input string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv(dbtest.RequireEnv) == "1" {
			t.Fatal(err)
		}
		t.Skip("skipped: ", err)
	}
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, errors.String())
	}
	return out.Bytes()
}

// keyPair is one that openssl has made.
func keyPair(t *testing.T) (private string, public *rsa.PublicKey) {
	t.Helper()
	private = filepath.Join(t.TempDir(), "key.pem")
	openssl(t, "", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", private)
	public, err := callback.PublicKey(string(openssl(t, "", "pkey", "-in", private, "-pubout")))
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

func signed(t *testing.T, private, text string) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString(openssl(t, text, "dgst", "-sha256", "-sign", private))
}

func TestAlipayAgainstOpenSSL(t *testing.T) {
	private, public := keyPair(t)
	const text = "app_id=1&charset=GBK&notify_id=n&out_trade_no=7&subject=\xb2\xe8+&total_amount=0.01&trade_no=P&trade_status=TRADE_SUCCESS"
	var query []string
	for _, field := range strings.Split(text+"&sign_type=RSA2&sign="+signed(t, private, text), "&") {
		name, value, _ := strings.Cut(field, "=")
		query = append(query, name+"="+url.QueryEscape(value))
	}
	e, err := callback.Alipay("1", public).Read(nil, []byte(strings.Join(query, "&")))
	if err != nil || e.State != callback.Paid || e.Amount != 1 || e.Values.Get("subject") != "\xb2\xe8+" {
		t.Errorf("%+v %v", e, err)
	}
}

// OpenSSL's command line has no GCM: the resource is the one of the sender's package.
func TestWeChatPayAgainstOpenSSL(t *testing.T) {
	private, public := keyPair(t)
	s := open(t, dbtest.Lookup("sqlite-modernc"), "wechatpay")
	r, err := s.sender.Request("http://site.test/", noticeOf("7"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprint(time.Now().Unix())
	r.Header = http.Header{}
	for name, value := range map[string]string{
		"Wechatpay-Serial": "S", "Wechatpay-Timestamp": stamp, "Wechatpay-Nonce": "n",
		"Wechatpay-Signature": signed(t, private, stamp+"\nn\n"+string(body)+"\n"),
	} {
		r.Header.Set(name, value)
	}
	p := callback.WeChatPay(s.sender.Keys.Account, []byte(s.sender.Keys.Secret), map[string]*rsa.PublicKey{"S": public})
	if e, err := p.Read(r, body); err != nil || e.Order != "7" {
		t.Errorf("%+v %v", e, err)
	}
}

func TestStripeAndEpayAgainstOpenSSL(t *testing.T) {
	stamp, body := fmt.Sprint(time.Now().Unix()), `{"id":"evt_7"}`
	sum := openssl(t, stamp+"."+body, "dgst", "-sha256", "-hmac", "whsec_7", "-binary")
	r := &http.Request{Header: http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + hex.EncodeToString(sum)}}}
	if e, err := callback.Stripe("whsec_7").Read(r, []byte(body)); err != nil || e.Delivery != "evt_7" {
		t.Errorf("%+v %v", e, err)
	}
	const text = "money=1.00&name=茶&out_trade_no=7&pid=1&trade_no=P&trade_status=TRADE_SUCCESS"
	sign := hex.EncodeToString(openssl(t, text+"key", "dgst", "-md5", "-binary"))
	r = &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: text + "&param=&sign_type=MD5&sign=" + sign}}
	if e, err := callback.Epay("1", "key").Read(r, nil); err != nil || e.Order != "7" {
		t.Errorf("%+v %v", e, err)
	}
}

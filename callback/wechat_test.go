package callback

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const weChatKey = "0123456789abcdef0123456789abcdef"

// weChatBody is a notice with spaces between its parts: what is signed are its bytes,
// not what they say.
func weChatBody(t *testing.T, key string) string {
	t.Helper()
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	const plain = `{"mchid":"m","out_trade_no":"7","transaction_id":"P7","trade_state":"SUCCESS","amount":{"total":8800}}`
	sealed := gcm.Seal(nil, []byte("nonce-of-12b"), []byte(plain), []byte("transaction"))
	return `{ "id": "n", "resource": { "algorithm": "AEAD_AES_256_GCM", "nonce": "nonce-of-12b", "associated_data": "transaction",` +
		` "ciphertext": "` + base64.StdEncoding.EncodeToString(sealed) + `" } }`
}

func TestWeChatPaysSignature(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good, other := weChatBody(t, weChatKey), weChatBody(t, strings.Repeat("x", 32))
	refund := strings.Replace(good, `"transaction"`, `"refund"`, 1)
	for name, c := range map[string]struct {
		signed, body, serial string
		now                  int64
		want                 error
	}{
		"as it stands":               {good, good, "S", 1000, nil},
		"at the edge":                {good, good, "S", 1300, nil},
		"too old":                    {good, good, "S", 1301, ErrStale},
		"of the future":              {good, good, "S", 699, ErrStale},
		"the same, written anew":     {good, strings.ReplaceAll(good, " ", ""), "S", 1000, ErrSignature},
		"a key that is not known":    {good, good, "T", 1000, ErrSignature},
		"another associated data":    {refund, refund, "S", 1000, errAny},
		"under another APIv3 key":    {other, other, "S", 1000, errAny},
		"forged, and cannot be read": {good, "{}", "S", 1000, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			r := posted(c.body, "Wechatpay-Serial", c.serial, "Wechatpay-Timestamp", "1000", "Wechatpay-Nonce", "n",
				"Wechatpay-Signature", weChatSign(t, key, "1000\nn\n"+c.signed+"\n"))
			e, err := weChatPay("m", []byte(weChatKey), map[string]*rsa.PublicKey{"S": &key.PublicKey}, at(c.now)).Read(r, []byte(c.body))
			if c.want == errAny && err != nil {
				err = errors.Join(errAny, err)
			}
			if !errors.Is(err, c.want) || err == nil && e.Order != "7" || strings.Contains(fmt.Sprint(err), weChatKey) {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// errAny stands for any error.
var errAny = errors.New("any")

func weChatSign(t *testing.T, key *rsa.PrivateKey, text string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	sign, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(sign)
}

package callbacktest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // what the epay family signs with
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

const (
	alipayApp = "2021000000000000"
	merchant  = "1900000001"
	wechatKey = "PUB_KEY_ID_0119000000012026120200000000"
	bits      = 2048
)

// Alipay sends as Alipay.
func Alipay(k Keys) (*Sender, error) {
	fill(&k.Account, alipayApp)
	key, public, err := rsaKeys(&k)
	if err != nil {
		return nil, err
	}
	return &Sender{
		Provider:     callback.Alipay(k.Account, &key.PublicKey),
		Keys:         k,
		Public:       public,
		Settings:     []Setting{{"app_id", k.Account}, {"Alipay's public key", public}},
		Acknowledged: success,
		request: func(site string, n Notice) (*http.Request, error) {
			v := alipayFields(k.Account, n)
			sign, err := signed(key, sorted(v))
			v.Set("sign", sign)
			v.Set("sign_type", "RSA2")
			if err != nil {
				return nil, err
			}
			return form(site, v)
		},
	}, nil
}

func alipayFields(app string, n Notice) url.Values {
	now := time.Now().In(time.FixedZone("", 8*60*60)).Format(time.DateTime)
	v := url.Values{}
	for name, value := range map[string]string{
		"app_id": app, "notify_id": n.Delivery, "notify_type": "trade_status_sync", "notify_time": now,
		"charset": n.Charset, "version": "1.0", "out_trade_no": n.Order, "trade_no": n.Payment,
		"total_amount": yuan(n.Amount), "subject": n.Subject, "gmt_create": now,
		"trade_status": map[callback.State]string{
			callback.Pending: "WAIT_BUYER_PAY", callback.Closed: "TRADE_CLOSED",
		}[n.State],
	} {
		v.Set(name, value)
	}
	if v.Get("trade_status") == "" {
		v.Set("trade_status", "TRADE_SUCCESS")
		v.Set("gmt_payment", now)
	}
	if n.State == callback.Refunded {
		v.Set("refund_fee", yuan(n.Refunded))
		v.Set("out_biz_no", n.Refund)
		v.Set("gmt_refund", now+".123")
	}
	return v
}

// Epay sends as the epay family; the state can only be Paid or Pending.
func Epay(k Keys) (*Sender, error) {
	fill(&k.Account, merchant)
	fill(&k.Secret, nonce())
	return &Sender{
		Provider:     callback.Epay(k.Account, k.Secret),
		Keys:         k,
		Settings:     []Setting{{"pid", k.Account}, {"key", k.Secret}},
		Acknowledged: success,
		request: func(site string, n Notice) (*http.Request, error) {
			v := url.Values{}
			status := "TRADE_SUCCESS"
			if n.State != callback.Paid {
				status = "TRADE_" + strings.ToUpper(string(n.State))
			}
			for name, value := range map[string]string{
				"pid": k.Account, "trade_no": n.Payment, "out_trade_no": n.Order, "type": "alipay",
				"name": "茶 100 克", "money": yuan(n.Amount), "trade_status": status,
			} {
				v.Set(name, value)
			}
			sum := md5.Sum([]byte(sorted(v) + k.Secret)) //nolint:gosec // see above
			v.Set("sign", hex.EncodeToString(sum[:]))
			v.Set("sign_type", "MD5")
			return http.NewRequestWithContext(context.Background(), http.MethodGet, site+"?"+v.Encode(), nil)
		},
	}, nil
}

// WeChatPay sends as WeChat Pay, version 3.
func WeChatPay(k Keys) (*Sender, error) {
	fill(&k.Account, merchant)
	fill(&k.Secret, (nonce() + nonce())[:32])
	key, public, err := rsaKeys(&k)
	if err != nil {
		return nil, err
	}
	return &Sender{
		Provider: callback.WeChatPay(k.Account, []byte(k.Secret), map[string]*rsa.PublicKey{wechatKey: &key.PublicKey}),
		Keys:     k,
		Public:   public,
		Settings: []Setting{
			{"mchid", k.Account}, {"APIv3 key", k.Secret}, {"WeChat Pay's public key", public}, {"its identity", wechatKey},
		},
		Acknowledged: func(status int, _ []byte) bool { return status == http.StatusOK || status == http.StatusNoContent },
		request: func(site string, n Notice) (*http.Request, error) {
			body, err := weChatBody(k, n)
			if err != nil {
				return nil, err
			}
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, site, bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			stamp, once := strconv.FormatInt(time.Now().Unix(), 10), nonce()
			sign, err := signed(key, stamp+"\n"+once+"\n"+string(body)+"\n")
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Wechatpay-Timestamp": stamp, "Wechatpay-Nonce": once,
				"Wechatpay-Serial": wechatKey, "Wechatpay-Signature": sign, "Wechatpay-Signature-Type": "WECHATPAY2-SHA256-RSA2048",
			} {
				req.Header.Set(name, value)
			}
			return req, err
		},
	}, nil
}

// weChatBody is the notice, with its resource encrypted.
func weChatBody(k Keys, n Notice) ([]byte, error) {
	now := time.Now().Format(time.RFC3339)
	event, res := "TRANSACTION.SUCCESS", map[string]any{
		"mchid": k.Account, "appid": "wx0000000000000000", "out_trade_no": n.Order, "transaction_id": n.Payment, "success_time": now,
		"trade_state": map[callback.State]string{callback.Pending: "NOTPAY", callback.Closed: "CLOSED", callback.Paid: "SUCCESS"}[n.State],
		"amount":      map[string]any{"total": n.Amount, "payer_total": n.Amount, "currency": "CNY", "payer_currency": "CNY"},
	}
	if n.State == callback.Refunded {
		event = "REFUND.SUCCESS"
		delete(res, "trade_state")
		res["refund_status"], res["refund_id"], res["out_refund_no"] = "SUCCESS", n.Refund, "out-"+n.Refund
		res["amount"] = map[string]any{"total": n.Amount, "refund": n.Refunded, "payer_total": n.Amount, "payer_refund": n.Refunded}
	}
	plain, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher([]byte(k.Secret))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	once := nonce()[:gcm.NonceSize()]
	return json.Marshal(map[string]any{
		"id": n.Delivery, "create_time": now, "event_type": event, "resource_type": "encrypt-resource", "summary": "支付成功",
		"resource": map[string]any{
			"algorithm": "AEAD_AES_256_GCM", "original_type": "transaction", "associated_data": "transaction", "nonce": once,
			"ciphertext": gcm.Seal(nil, []byte(once), plain, []byte("transaction")),
		},
	})
}

// rsaKeys reads the private key, or makes one, and returns the public one as base64.
func rsaKeys(k *Keys) (key *rsa.PrivateKey, public string, err error) {
	if k.Private == "" {
		if k.Private, err = made(); err != nil {
			return nil, "", err
		}
	}
	block, _ := pem.Decode([]byte(k.Private))
	if block == nil {
		return nil, "", errors.New("callbacktest: the private key is not PEM")
	}
	read, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, "", fmt.Errorf("callbacktest: the private key: %w", err)
	}
	key, ok := read.(*rsa.PrivateKey)
	if !ok {
		return nil, "", errors.New("callbacktest: the private key is not RSA")
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return key, base64.StdEncoding.EncodeToString(der), err
}

func made() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

func signed(key *rsa.PrivateKey, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	return base64.StdEncoding.EncodeToString(sig), err
}

// sorted is what Alipay and its like sign.
func sorted(v url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, fmt.Sprintf("%s=%s", name, v.Get(name)))
	}
	return strings.Join(parts, "&")
}

func form(site string, v url.Values) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, site, strings.NewReader(v.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	return req, err
}

package callback

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// WeChatPay reads the notices of WeChat Pay's version 3 (微信支付 APIv3). apiKey is the
// merchant's APIv3 key of 32 bytes. keys are those that WeChat Pay may sign with, by
// what Wechatpay-Serial says: the serial number of a platform certificate (capital
// hexadecimal), or the identity of its public key (PUB_KEY_ID_…).
//
// The signature is over the raw body, and of the last five minutes. Its probes
// (WECHATPAY/SIGNTEST/…) are wrong on purpose and are refused. The acknowledgement is
// 204; the refusal a JSON with the code FAIL. It is sent again 15 times in 25 hours.
//
// Source: pay.weixin.qq.com/doc/v3, 如何验签, 如何解密回调报文, 支付成功回调通知.
func WeChatPay(mchID string, apiKey []byte, keys map[string]*rsa.PublicKey) Provider {
	return weChatPay(mchID, apiKey, keys, time.Now)
}

func weChatPay(mchID string, apiKey []byte, keys map[string]*rsa.PublicKey, now func() time.Time) Provider {
	return Provider{
		Name: "wechatpay",
		Read: func(r *http.Request, body []byte) (Event, error) {
			if err := weChatSigned(r.Header, body, keys, now()); err != nil {
				return Event{}, err
			}
			return weChatEvent(body, mchID, apiKey)
		},
		Refuse: func(status int) Answer {
			return Answer{status, "application/json; charset=utf-8", `{"code":"FAIL","message":"` + http.StatusText(status) + `"}`}
		},
	}
}

func weChatSigned(h http.Header, body []byte, keys map[string]*rsa.PublicKey, now time.Time) error {
	key, ok := keys[h.Get("Wechatpay-Serial")]
	if !ok || key == nil {
		return fmt.Errorf("%w: it names a key that is not known here", ErrSignature)
	}
	stamp := h.Get("Wechatpay-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ErrSignature
	}
	message := stamp + "\n" + h.Get("Wechatpay-Nonce") + "\n" + string(body) + "\n"
	if err := signedSHA256(key, []byte(message), h.Get("Wechatpay-Signature")); err != nil {
		return err
	}
	return fresh(seconds, now)
}

type weChatNotice struct {
	ID        string    `json:"id"`
	EventType string    `json:"event_type"`
	Created   time.Time `json:"create_time"`
	Resource  struct {
		Algorithm  string `json:"algorithm"`
		Ciphertext []byte `json:"ciphertext"`
		Nonce      string `json:"nonce"`
		Associated string `json:"associated_data"`
	} `json:"resource"`
}

// weChatResource is a payment or a refund.
type weChatResource struct {
	MchID       string    `json:"mchid"`
	SpMchID     string    `json:"sp_mchid"` // of a service provider's notices
	Order       string    `json:"out_trade_no"`
	Payment     string    `json:"transaction_id"`
	Refund      string    `json:"refund_id"`
	TradeState  string    `json:"trade_state"`
	RefundState string    `json:"refund_status"`
	Success     time.Time `json:"success_time"`
	Amount      struct {
		Total    int64  `json:"total"`
		Refund   int64  `json:"refund"`
		Currency string `json:"currency"`
	} `json:"amount"`
}

var errNotice = errors.New("callback: the notice cannot be read")

func weChatEvent(body []byte, mchID string, apiKey []byte) (Event, error) {
	var n weChatNotice
	if err := json.Unmarshal(body, &n); err != nil {
		return Event{}, errNotice
	}
	plain, err := weChatOpened(n, apiKey)
	if err != nil {
		return Event{}, err
	}
	var res weChatResource
	if err := json.Unmarshal(plain, &res); err != nil {
		return Event{}, errNotice
	}
	if or(res.MchID, res.SpMchID) != mchID {
		return Event{}, fmt.Errorf("%w: it is of another merchant", ErrSignature)
	}
	e := Event{
		Account:  mchID,
		Delivery: n.ID,
		Order:    res.Order,
		Payment:  res.Payment,
		Refund:   res.Refund,
		Status:   or(or(res.RefundState, res.TradeState), n.EventType),
		State:    weChatState(res),
		Amount:   res.Amount.Total,
		Currency: or(res.Amount.Currency, "CNY"),
		Time:     or(res.Success, n.Created),
		Body:     plain,
	}
	if e.State == Refunded {
		e.Refunded = res.Amount.Refund
	}
	return e, nil
}

func weChatState(res weChatResource) State {
	switch {
	case res.Refund != "" && res.RefundState == "SUCCESS":
		return Refunded
	case res.Refund != "":
		return Other // a refund that has failed or was given up
	}
	switch res.TradeState {
	case "SUCCESS":
		return Paid
	case "NOTPAY", "USERPAYING":
		return Pending
	case "CLOSED", "REVOKED", "PAYERROR":
		return Closed
	}
	return Other
}

// weChatOpened decrypts the resource.
func weChatOpened(n weChatNotice, apiKey []byte) ([]byte, error) {
	if n.Resource.Algorithm != "AEAD_AES_256_GCM" {
		return nil, fmt.Errorf("callback: the notice is encrypted with %.30q", n.Resource.Algorithm)
	}
	if len(apiKey) != 32 {
		return nil, errors.New("callback: the APIv3 key has 32 bytes")
	}
	block, err := aes.NewCipher(apiKey)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	if len(n.Resource.Nonce) != gcm.NonceSize() {
		return nil, errNotice
	}
	plain, err := gcm.Open(nil, []byte(n.Resource.Nonce), n.Resource.Ciphertext, []byte(n.Resource.Associated))
	if err != nil {
		return nil, errors.New("callback: the notice cannot be decrypted: is the APIv3 key right?")
	}
	return plain, nil
}

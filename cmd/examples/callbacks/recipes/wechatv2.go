package recipes

import (
	"bytes"
	"crypto/aes"
	"crypto/md5" //nolint:gosec // what version 2 signs with
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/nebis-dev/nebis/callback"
)

// WeChatPayV2 reads the notices of WeChat Pay's version 2: payments, which are signed,
// and refunds, which are encrypted. key is the merchant's API key.
//
// Source: pay.weixin.qq.com/doc/v2, 签名算法, 支付结果通知, 退款结果通知.
func WeChatPayV2(mchID, key string) callback.Provider {
	return callback.Provider{
		Name: "wechatpay-v2",
		Read: func(_ *http.Request, body []byte) (callback.Event, error) {
			v, err := elements(body)
			switch {
			case err != nil:
				return callback.Event{}, err
			case v["mch_id"] != mchID:
				return callback.Event{}, callback.ErrSignature
			case v["req_info"] != "":
				return refund(v, key)
			case !signedV2(v, key):
				return callback.Event{}, callback.ErrSignature
			}
			return payment(v)
		},
		Acknowledge: func(callback.Event) callback.Answer { return says("SUCCESS", "OK", http.StatusOK) },
		Refuse:      func(status int) callback.Answer { return says("FAIL", http.StatusText(status), status) },
	}
}

func says(code, message string, status int) callback.Answer {
	return callback.Answer{Status: status, Type: "text/xml; charset=utf-8", Body: "<xml><return_code><![CDATA[" + code + "]]></return_code><return_msg><![CDATA[" + message + "]]></return_msg></xml>"}
}

// elements reads the elements below the one of the document, none of them twice. Go's
// decoder expands no entities but XML's own.
func elements(body []byte) (map[string]string, error) {
	v, dec := map[string]string{}, xml.NewDecoder(bytes.NewReader(body))
	for depth := 0; ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && depth == 0 && len(v) > 0 {
			return v, nil
		}
		if err != nil {
			return nil, errors.New("the notice is not XML")
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				continue
			}
			var text string
			if err := dec.DecodeElement(&text, &token); err != nil {
				return nil, errors.New("the notice is not XML")
			}
			depth--
			if _, twice := v[token.Name.Local]; twice {
				return nil, errors.New("an element of the notice comes twice")
			}
			v[token.Name.Local] = text
		case xml.EndElement:
			depth--
		}
	}
}

// signedV2 checks MD5, or HMAC-SHA256 where the notice says so.
func signedV2(v map[string]string, key string) bool {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if name != "sign" && v[name] != "" {
			text.WriteString(name + "=" + v[name] + "&")
		}
	}
	text.WriteString("key=" + key)
	sum := md5.Sum([]byte(text.String())) //nolint:gosec // see above
	want := sum[:]
	if v["sign_type"] == "HMAC-SHA256" {
		want = mac(key, []byte(text.String()))
	}
	return subtle.ConstantTimeCompare([]byte(strings.ToUpper(hex.EncodeToString(want))), []byte(v["sign"])) == 1
}

func payment(v map[string]string) (callback.Event, error) {
	e := callback.Event{
		Account: v["mch_id"], Delivery: v["transaction_id"], Order: v["out_trade_no"], Payment: v["transaction_id"],
		State: callback.Other, Status: v["result_code"], Currency: "CNY",
	}
	if e.Status == "SUCCESS" {
		e.State = callback.Paid
	} else {
		e.Delivery += " " + e.Status // or the payment that succeeds after it would be taken for it
	}
	var err error
	e.Amount, err = strconv.ParseInt(v["total_fee"], 10, 64)
	return e, err
}

// refund opens req_info: AES-256 in ECB under the MD5 of the key, which is the proof
// that it comes from WeChat Pay.
func refund(v map[string]string, key string) (callback.Event, error) {
	sealed, err := decode64(v["req_info"])
	sum := md5.Sum([]byte(key)) //nolint:gosec // see above
	block, aesErr := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil || aesErr != nil || len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return callback.Event{}, callback.ErrSignature
	}
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Decrypt(sealed[i:], sealed[i:])
	}
	pad := int(sealed[len(sealed)-1])
	if pad < 1 || pad > aes.BlockSize {
		return callback.Event{}, callback.ErrSignature
	}
	r, err := elements(sealed[:len(sealed)-pad])
	if err != nil {
		return callback.Event{}, callback.ErrSignature
	}
	e := callback.Event{
		Account: v["mch_id"], Delivery: r["refund_id"] + " " + r["refund_status"], Order: r["out_trade_no"], Payment: r["transaction_id"],
		Refund: r["refund_id"], State: callback.Other, Status: r["refund_status"], Currency: "CNY",
	}
	if e.Status == "SUCCESS" {
		e.State = callback.Refunded
	}
	if e.Amount, err = strconv.ParseInt(r["total_fee"], 10, 64); err == nil {
		e.Refunded, err = strconv.ParseInt(r["settlement_refund_fee"], 10, 64)
	}
	return e, err
}

func decode64(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }

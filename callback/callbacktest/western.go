package callbacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

// Stripe sends as Stripe: payment intents, and charges that were refunded.
func Stripe(k Keys) (*Sender, error) {
	fill(&k.Secret, "whsec_"+nonce())
	return &Sender{
		Provider:     callback.Stripe(k.Secret),
		Keys:         k,
		Settings:     []Setting{{"signing secret", k.Secret}},
		Acknowledged: ok,
		request: func(site string, n Notice) (*http.Request, error) {
			body, err := json.Marshal(stripeEvent(n))
			if err != nil {
				return nil, err
			}
			stamp := time.Now().Unix()
			sign := hex.EncodeToString(mac([]byte(k.Secret), fmt.Sprintf("%d.%s", stamp, body)))
			return post(site, body, map[string]string{"Stripe-Signature": fmt.Sprintf("t=%d,v0=00,v1=%s", stamp, sign)})
		},
	}, nil
}

func stripeEvent(n Notice) map[string]any {
	kind, object := "payment_intent.succeeded", map[string]any{
		"id": n.Payment, "object": "payment_intent", "amount": n.Amount, "amount_received": n.Amount,
		"currency": "cny", "metadata": map[string]string{"order_id": n.Order}, "status": "succeeded",
	}
	switch n.State {
	case callback.Pending:
		kind, object["amount_received"] = "payment_intent.processing", 0
	case callback.Closed:
		kind, object["amount_received"] = "payment_intent.canceled", 0
	case callback.Refunded:
		kind = "refund.updated"
		object = map[string]any{
			"id": n.Refund, "object": "refund", "payment_intent": n.Payment, "amount": n.Refunded,
			"currency": "cny", "metadata": map[string]string{"order_id": n.Order}, "status": "succeeded",
		}
	}
	return map[string]any{
		"id": n.Delivery, "object": "event", "type": kind, "created": time.Now().Unix(), "livemode": false,
		"data": map[string]any{"object": object},
	}
}

// StandardWebhooks sends as the specification says; the type is "payment." and the
// state.
func StandardWebhooks(k Keys) (*Sender, error) {
	fill(&k.Secret, "whsec_"+base64.StdEncoding.EncodeToString([]byte(nonce())))
	provider, err := callback.StandardWebhooks("webhooks", k.Secret)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(k.Secret, "whsec_"))
	if err != nil {
		return nil, err
	}
	return &Sender{
		Provider:     provider,
		Keys:         k,
		Settings:     []Setting{{"secret", k.Secret}},
		Acknowledged: ok,
		request: func(site string, n Notice) (*http.Request, error) {
			now := time.Now()
			body, err := json.Marshal(map[string]any{
				"type": "payment." + string(n.State), "timestamp": now.UTC().Format(time.RFC3339Nano),
				"data": map[string]any{"order": n.Order, "payment": n.Payment, "refund": n.Refund, "amount": n.Amount, "refunded": n.Refunded},
			})
			if err != nil {
				return nil, err
			}
			stamp := fmt.Sprint(now.Unix())
			sign := base64.StdEncoding.EncodeToString(mac(key, n.Delivery+"."+stamp+"."+string(body)))
			return post(site, body, map[string]string{
				"Webhook-Id": n.Delivery, "Webhook-Timestamp": stamp, "Webhook-Signature": "v1," + sign,
			})
		},
	}, nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func post(site string, body []byte, header map[string]string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, site, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return req, nil
}

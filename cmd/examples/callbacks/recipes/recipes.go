// Package recipes has callback providers that package callback does not: to be copied.
package recipes

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/nebis-dev/nebis/callback"
)

// GitHub reads the webhooks of a repository or organisation. A delivery that somebody
// sends again by hand keeps its identity.
//
// Source: docs.github.com, Validating webhook deliveries.
func GitHub(secret string) callback.Provider {
	return callback.Provider{
		Name: "github",
		Read: func(r *http.Request, body []byte) (callback.Event, error) {
			text, _ := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
			sign, err := hex.DecodeString(text)
			if err != nil || !hmac.Equal(sign, mac(secret, body)) {
				return callback.Event{}, callback.ErrSignature
			}
			return callback.Event{
				Delivery: r.Header.Get("X-GitHub-Delivery"),
				State:    callback.Other,
				Status:   r.Header.Get("X-GitHub-Event"),
				Body:     body,
			}, nil
		},
	}
}

// Shopify reads the webhooks of an app. A notice is sent again up to eight times in
// four hours when it is not answered with 2xx within five seconds.
//
// Source: shopify.dev, Deliver webhooks through HTTPS, Ignore duplicates.
func Shopify(secret string) callback.Provider {
	return callback.Provider{
		Name: "shopify",
		Read: func(r *http.Request, body []byte) (callback.Event, error) {
			sign, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Shopify-Hmac-Sha256"))
			if err != nil || !hmac.Equal(sign, mac(secret, body)) {
				return callback.Event{}, callback.ErrSignature
			}
			id, topic := r.Header.Get("X-Shopify-Event-Id"), r.Header.Get("X-Shopify-Topic")
			if id == "" {
				return callback.Event{}, nil // a notice without identity is refused
			}
			var order struct {
				ID json.Number `json:"id"`
			}
			_ = json.Unmarshal(body, &order) // other topics have other bodies
			e := callback.Event{
				Account:  r.Header.Get("X-Shopify-Shop-Domain"),
				Delivery: id + " " + topic, // one event may come under several topics
				Payment:  order.ID.String(),
				State:    callback.Other,
				Status:   topic,
				Body:     body,
			}
			if topic == "orders/paid" {
				e.State = callback.Paid
			}
			return e, nil
		},
		Acknowledge: func(callback.Event) callback.Answer { return callback.Answer{Status: http.StatusOK} },
	}
}

func mac(secret string, message []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(message)
	return h.Sum(nil)
}

package callback

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StandardWebhooks reads what senders of the Standard Webhooks specification send.
// secrets are whsec_… (symmetric) or whpk_… (a public key); several while they are
// being changed. name is the scope of the keys.
//
// The notices are the sender's own: State is Other, Status the type, Body the JSON.
//
// Source: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
func StandardWebhooks(name string, secrets ...string) (Provider, error) {
	return standardWebhooks(name, secrets, time.Now)
}

func standardWebhooks(name string, secrets []string, now func() time.Time) (Provider, error) {
	checks, err := standardKeys(secrets)
	if err != nil {
		return Provider{}, err
	}
	return Provider{
		Name: name,
		Read: func(r *http.Request, body []byte) (Event, error) {
			id, stamp := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
			if err := standardSigned(checks, id, stamp, body, r.Header.Get("Webhook-Signature"), now()); err != nil {
				return Event{}, err
			}
			var notice struct {
				Type string    `json:"type"`
				Time time.Time `json:"timestamp"`
			}
			_ = json.Unmarshal(body, &notice) // a body of another form is the caller's to read
			return Event{Delivery: id, State: Other, Status: notice.Type, Time: notice.Time, Body: body}, nil
		},
	}, nil
}

// check tells whether a signature of one version is that of a message.
type check struct {
	version string
	holds   func(message, signature []byte) bool
}

func standardKeys(secrets []string) ([]check, error) {
	if len(secrets) == 0 {
		return nil, errors.New("callback: Standard Webhooks need a secret")
	}
	var all []check
	for _, s := range secrets {
		public, asymmetric := strings.CutPrefix(s, "whpk_")
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(public, "whsec_"))
		switch {
		case err != nil || len(key) == 0, asymmetric && len(key) != ed25519.PublicKeySize:
			return nil, errors.New("callback: a secret of Standard Webhooks is whsec_ or whpk_ and base64")
		case asymmetric:
			all = append(all, check{"v1a", func(m, sig []byte) bool { return ed25519.Verify(key, m, sig) }})
		default:
			all = append(all, check{"v1", func(m, sig []byte) bool { return hmac.Equal(mac(key, m), sig) }})
		}
	}
	return all, nil
}

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}

func standardSigned(checks []check, id, stamp string, body []byte, header string, now time.Time) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" {
		return ErrSignature
	}
	message := fmt.Appendf(nil, "%s.%s.%s", id, stamp, body)
	for _, part := range strings.Fields(header) {
		version, text, _ := strings.Cut(part, ",")
		sig, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		for _, c := range checks {
			if c.version == version && c.holds(message, sig) {
				return fresh(seconds, now)
			}
		}
	}
	return ErrSignature
}

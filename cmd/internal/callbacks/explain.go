package callbacks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// A Finding is what a saved request is.
type Finding struct {
	Provider string `json:"provider"`
	Because  string `json:"because"` // what it was known by

	// Key is the identity of the notice, Owner the account, where they can be read.
	Scope string `json:"scope,omitempty"`
	Owner string `json:"owner,omitempty"`
	Key   string `json:"key,omitempty"`

	Signature string          `json:"signature"`       // holds, wrong, old or unchecked
	Why       string          `json:"why,omitempty"`   // it does not hold, or was not checked
	Event     *callback.Event `json:"event,omitempty"` // where the signature holds
	request   *http.Request
	body      []byte
}

// The words of Finding.Signature.
const (
	Holds     = "holds"
	Wrong     = "wrong"
	Old       = "old" // it holds, and is of another time
	Unchecked = "unchecked"
)

var errRequest = errors.New("not a saved HTTP request: want its first line, its headers, an empty line, its body")

// Read finds out whose callback a saved request is.
func Read(text []byte) (*Finding, error) {
	r, body, err := parse(text)
	if err != nil {
		return nil, err
	}
	f := &Finding{Signature: Unchecked, request: r, body: body}
	for _, look := range []func(*Finding) bool{weChat, stripe, standard, fields} {
		if look(f) {
			f.Scope = f.Provider
			return f, nil
		}
	}
	return nil, errors.New("none of the providers that are known here: " + Names())
}

// parse takes lines that end in LF as well, as editors save them, and all that comes
// behind the empty line as the body, whatever Content-Length says.
func parse(text []byte) (*http.Request, []byte, error) {
	in := bufio.NewReader(bytes.NewReader(text))
	lines := textproto.NewReader(in)
	first, err := lines.ReadLine()
	parts := strings.Fields(first)
	if err != nil || len(parts) < 2 {
		return nil, nil, errRequest
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return nil, nil, errRequest
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(in); err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(context.Background(), parts[0], parts[1], nil)
	if err != nil {
		return nil, nil, errRequest
	}
	r.Header = http.Header(header)
	return r, body.Bytes(), nil
}

func weChat(f *Finding) bool {
	if f.request.Header.Get("Wechatpay-Signature") == "" {
		return false
	}
	f.Provider, f.Because = "wechatpay", "it has the header Wechatpay-Signature"
	f.Key = f.text("id")
	return true
}

func stripe(f *Finding) bool {
	if f.request.Header.Get("Stripe-Signature") == "" {
		return false
	}
	f.Provider, f.Because = "stripe", "it has the header Stripe-Signature"
	f.Key, f.Owner = f.text("id"), f.text("account")
	return true
}

func standard(f *Finding) bool {
	if f.request.Header.Get("Webhook-Signature") == "" {
		return false
	}
	f.Provider, f.Because = "webhooks", "it has the header Webhook-Signature, of Standard Webhooks"
	f.Key = f.request.Header.Get("Webhook-Id")
	return true
}

// text is a field of the body's JSON.
func (f *Finding) text(name string) string {
	all := map[string]any{}
	_ = json.Unmarshal(f.body, &all) // a body of another form has no fields
	s, _ := all[name].(string)
	return s
}

// fields looks at forms and queries.
func fields(f *Finding) bool {
	query := f.request.URL.RawQuery
	if f.request.Method == http.MethodPost {
		query = string(bytes.TrimSpace(f.body))
	}
	v, err := url.ParseQuery(query)
	switch {
	case err != nil || v.Get("sign") == "":
		return false
	case v.Get("app_id") != "" && v.Get("notify_id") != "":
		f.Provider, f.Because, f.Owner, f.Key = "alipay", "it has the fields app_id, notify_id and sign", v.Get("app_id"), v.Get("notify_id")
	case v.Get("pid") != "" && v.Get("trade_no") != "":
		f.Provider, f.Because, f.Owner = "epay", "it has the fields pid, trade_no and sign", v.Get("pid")
		f.Key = v.Get("trade_no") + "+" + v.Get("trade_status")
	default:
		return false
	}
	return true
}

// A Means is what a signature is checked with.
type Means struct {
	callbacktest.Keys
	Public *rsa.PublicKey
}

// Check checks the signature, as far as there are means for it.
func (f *Finding) Check(m Means) {
	p, err := f.provider(m)
	if err != nil {
		f.Why = err.Error()
		return
	}
	// An editor may have added the end of a line.
	for _, body := range [][]byte{f.body, bytes.TrimSuffix(f.body, []byte("\n")), bytes.TrimSpace(f.body)} {
		e, err := p.Read(f.request, body)
		switch {
		case err == nil:
			f.Signature, f.Why, f.Event = Holds, "", &e
			f.Owner, f.Key = e.Account, e.Delivery
			return
		case errors.Is(err, callback.ErrStale):
			f.Signature, f.Why = Old, err.Error()
			return
		default:
			f.Signature, f.Why = Wrong, err.Error()
		}
	}
}

func (f *Finding) provider(m Means) (callback.Provider, error) {
	account := m.Account
	if account == "" {
		account = f.Owner
	}
	switch f.Provider {
	case "alipay", "wechatpay":
		if m.Public == nil {
			return callback.Provider{}, errors.New("it takes the provider's public key: --public-key or --keys")
		}
	default:
		if m.Secret == "" {
			return callback.Provider{}, errors.New("it takes the secret: NEBIS_CALLBACK_SECRET, --secret or --keys")
		}
	}
	switch f.Provider {
	case "alipay":
		return callback.Alipay(account, m.Public), nil
	case "wechatpay":
		if account == "" || m.Secret == "" {
			return callback.Provider{}, errors.New("it takes the merchant's number and APIv3 key as well: --account and --secret, or --keys")
		}
		serial := f.request.Header.Get("Wechatpay-Serial")
		return callback.WeChatPay(account, []byte(m.Secret), map[string]*rsa.PublicKey{serial: m.Public}), nil
	case "epay":
		return callback.Epay(account, m.Secret), nil
	case "stripe":
		return callback.Stripe(m.Secret), nil
	}
	p, err := callback.StandardWebhooks("webhooks", m.Secret)
	if err != nil {
		return p, fmt.Errorf("the secret: %w", err)
	}
	return p, nil
}

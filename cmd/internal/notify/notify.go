// Package notify posts a text to a person's chat, or to a program.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Ways are the forms in which a text can be posted.
var Ways = []string{"json", "wecom", "dingtalk", "slack"}

// A Hook is an address that takes posts. It is a secret, and so are its errors'
// causes: none of them says more than the host.
type Hook struct {
	url    *url.URL
	way    string
	secret string
}

// New reads an address. The way "" is that of the address's host, or json. The
// secret is DingTalk's signature (加签); "" is none.
func New(address, way, secret string) (*Hook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("want an address that begins with https://")
	}
	if way == "" {
		way = map[string]string{"qyapi.weixin.qq.com": "wecom", "oapi.dingtalk.com": "dingtalk", "hooks.slack.com": "slack"}[u.Hostname()]
	}
	if way == "" {
		way = "json"
	}
	if !slices.Contains(Ways, way) {
		return nil, fmt.Errorf("want one of %v", Ways)
	}
	return &Hook{u, way, secret}, nil
}

// String is all that is told of the address.
func (h *Hook) String() string { return h.url.Scheme + "://" + h.url.Host + "/…" }

// within bounds a post.
const within = 10 * time.Second

// Post sends the text, or for json the value.
func (h *Hook) Post(ctx context.Context, text string, value any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	body, err := json.Marshal(h.body(text, value))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.signed(time.Now()), bytes.NewReader(body))
	if err != nil {
		return h.failed(errors.New("the address cannot be used"))
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	// A redirect would carry the secret to another place, or turn the post into a GET.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var e *url.Error // which quotes the address
		if errors.As(err, &e) {
			err = e.Err
		}
		return h.failed(err)
	}
	defer res.Body.Close()
	return h.answer(res)
}

func (h *Hook) failed(err error) error { return fmt.Errorf("%s: %w", h, err) }

// answer tells from an answer whether the post has arrived: the robots of WeCom and
// DingTalk say 200 to what they refuse as well.
func (h *Hook) answer(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	switch {
	case err != nil:
		return h.failed(err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return h.failed(fmt.Errorf("answers %s", res.Status))
	case h.way != "wecom" && h.way != "dingtalk":
		return nil
	}
	var said struct {
		Code int    `json:"errcode"`
		Text string `json:"errmsg"`
	}
	said.Code = -1
	if err := json.Unmarshal(body, &said); err != nil || said.Code != 0 {
		return h.failed(fmt.Errorf("refuses it: errcode %d", said.Code))
	}
	return nil
}

// The longest texts that the robots take, in bytes.
var longest = map[string]int{"wecom": 2048, "dingtalk": 20000, "slack": 40000}

func (h *Hook) body(text string, value any) any {
	text = shortened(text, longest[h.way])
	switch h.way {
	case "wecom", "dingtalk":
		return map[string]any{"msgtype": "text", "text": map[string]any{"content": text}}
	case "slack":
		return map[string]any{"text": text}
	}
	return value
}

func shortened(text string, most int) string {
	const more = "\n…"
	if most == 0 || len(text) <= most {
		return text
	}
	cut := most - len(more)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// signed is the address with the signature that DingTalk's robots may want.
func (h *Hook) signed(now time.Time) string {
	if h.way != "dingtalk" || h.secret == "" {
		return h.url.String()
	}
	at := strconv.FormatInt(now.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(h.secret))
	mac.Write([]byte(at + "\n" + h.secret))
	u, q := *h.url, h.url.Query()
	q.Set("timestamp", at)
	q.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	u.RawQuery = q.Encode()
	return u.String()
}

package recipes

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/callback"
)

// PayPal reads the webhooks of an app whose webhook has the identity id. cert returns
// the certificate at an address of PayPal's, which should be fetched once, over
// HTTPS, and kept; the address was checked to be PayPal's.
//
// Source: developer.paypal.com, Verify webhooks: offline verification.
func PayPal(id string, roots *x509.CertPool, cert func(url string) (*x509.Certificate, error)) callback.Provider {
	return callback.Provider{
		Name: "paypal",
		Read: func(r *http.Request, body []byte) (callback.Event, error) {
			c, err := paypalCert(r.Header.Get("Paypal-Cert-Url"), roots, cert)
			if err != nil {
				return callback.Event{}, fmt.Errorf("%w: %w", callback.ErrSignature, err)
			}
			sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
			message := strings.Join([]string{r.Header.Get("Paypal-Transmission-Id"), r.Header.Get("Paypal-Transmission-Time"), id, sum}, "|")
			sign, err := decode64(r.Header.Get("Paypal-Transmission-Sig"))
			if err != nil || c.CheckSignature(x509.SHA256WithRSA, []byte(message), sign) != nil {
				return callback.Event{}, callback.ErrSignature
			}
			return paypalEvent(body)
		},
		Acknowledge: func(callback.Event) callback.Answer { return callback.Answer{Status: http.StatusOK} },
	}
}

// paypalCert keeps anybody from signing with a certificate of his own.
func paypalCert(url string, roots *x509.CertPool, cert func(string) (*x509.Certificate, error)) (*x509.Certificate, error) {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	if !strings.HasPrefix(url, "https://") || !strings.HasSuffix(host, ".paypal.com") || strings.ContainsAny(host, "@:?#\\") {
		return nil, errors.New("the certificate is not at PayPal's")
	}
	c, err := cert(url)
	if err != nil {
		return nil, err
	}
	_, err = c.Verify(x509.VerifyOptions{Roots: roots, DNSName: "messageverificationcerts.paypal.com"})
	return c, err
}

func paypalEvent(body []byte) (callback.Event, error) {
	var n struct {
		ID       string    `json:"id"`
		Type     string    `json:"event_type"`
		Created  time.Time `json:"create_time"`
		Resource struct {
			ID      string `json:"id"`
			Invoice string `json:"invoice_id"`
			Custom  string `json:"custom_id"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(body, &n); err != nil {
		return callback.Event{}, errors.New("the notice cannot be read")
	}
	e := callback.Event{
		Delivery: n.ID, Order: n.Resource.Invoice, Payment: n.Resource.ID,
		State: callback.Other, Status: n.Type, Time: n.Created, Body: body,
	}
	switch n.Type {
	case "PAYMENT.CAPTURE.COMPLETED":
		e.State = callback.Paid
	case "PAYMENT.CAPTURE.PENDING":
		e.State = callback.Pending
	case "PAYMENT.CAPTURE.REFUNDED":
		e.State, e.Refund = callback.Refunded, n.Resource.ID
	case "PAYMENT.CAPTURE.DENIED", "PAYMENT.CAPTURE.DECLINED":
		e.State = callback.Closed
	}
	return e, nil
}

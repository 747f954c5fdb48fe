//go:build linux

package deploytest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

const shop = "shop.example"

// certify writes a certificate for the shop, and its key.
func (g *ground) certify() *x509.CertPool {
	g.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		g.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{shop}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		g.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		g.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	g.write("shop.pem", string(cert))
	g.write("shop.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}

// visitor is somebody at an address that no server here has.
type visitor struct {
	*testing.T
	http.Client
}

const (
	visitorAddr = "127.0.0.2"
	forged      = "6.6.6.6"
)

// newVisitor finds the shop's https and http at these addresses.
func newVisitor(t *testing.T, pool *x509.CertPool, secure, plain string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(visitorAddr)}}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasSuffix(addr, ":80") {
				return from.DialContext(ctx, network, plain)
			}
			return from.DialContext(ctx, network, secure)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{t, http.Client{Transport: transport, Jar: jar, CheckRedirect: stay}}
}

// get asks for an address, with headers that nobody may believe.
func (v *visitor) get(address string) (*http.Response, string) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), http.MethodGet, address, nil)
	if err != nil {
		v.Fatal(err)
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "X-Forwarded-Host"} {
		req.Header.Set(name, forged)
	}
	req.Header.Set("Forwarded", "for="+forged)
	req.Header.Set("X-Forwarded-Proto", "gopher")
	return v.read(v.Do(req))
}

func (v *visitor) post(address string, fields url.Values) *http.Response {
	v.Helper()
	res, _ := v.read(v.PostForm(address, fields))
	return res
}

func (v *visitor) read(res *http.Response, err error) (*http.Response, string) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.Fatal(err)
	}
	return res, string(body)
}

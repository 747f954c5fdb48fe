package callback

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// PublicKey reads an RSA key: PEM of a public key or of a certificate, or the bare
// base64 that Alipay's console shows. A certificate's dates are not looked at.
func PublicKey(text string) (*rsa.PublicKey, error) {
	der, err := decoded(text)
	if err != nil {
		return nil, fmt.Errorf("callback: public key: %w", err)
	}
	if cert, err := x509.ParseCertificate(der); err == nil {
		return rsaKey(cert.PublicKey)
	}
	if key, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("callback: public key: neither a certificate nor a public key")
	}
	return rsaKey(key)
}

func decoded(text string) ([]byte, error) {
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return block.Bytes, nil
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}

func rsaKey(key any) (*rsa.PublicKey, error) {
	if key, ok := key.(*rsa.PublicKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("callback: public key: RSA is wanted, not %T", key)
}

// signedSHA256 checks an RSA signature, PKCS #1 v1.5, in base64.
func signedSHA256(key *rsa.PublicKey, message []byte, signature string) error {
	sig, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return ErrSignature
	}
	sum := sha256.Sum256(message)
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) != nil {
		return ErrSignature
	}
	return nil
}

// tolerance is how far the provider's clock, or a signature's way here, may be off.
// Stripe's and Standard Webhooks' libraries take it, and WeChat Pay recommends it.
const tolerance = 5 * time.Minute

// fresh checks a time that was signed, in seconds since 1970.
func fresh(seconds int64, now time.Time) error {
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > tolerance {
		return fmt.Errorf("%w: %v off", ErrStale, off.Round(time.Second))
	}
	return nil
}

package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// visitorCookie has a random name and its signature. It says nothing of a person,
// and is set only beside a key.
const visitorCookie = "nebis_visitor"

const visitorAge = 365 * day

// visitors knows the cookies that are its own.
type visitors struct{ secret []byte }

// known returns the visitor's name, "" for a guest: one without the cookie, or
// with one that we have not made.
func (v visitors) known(r *http.Request) string {
	if len(v.secret) == 0 {
		return ""
	}
	for _, c := range r.CookiesNamed(visitorCookie) {
		name, sum, _ := strings.Cut(c.Value, ".")
		if name != "" && hmac.Equal([]byte(sum), []byte(v.sign(name))) {
			return name
		}
	}
	return ""
}

func (v visitors) sign(name string) string {
	mac := hmac.New(sha256.New, v.secret)
	mac.Write([]byte("nebis visitor 1\n" + name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// welcome makes the cookie of a new visitor.
func (v visitors) welcome(secure bool) *http.Cookie {
	name := rand.Text()
	return &http.Cookie{
		Name: visitorCookie, Value: name + "." + v.sign(name), Path: "/", MaxAge: int(visitorAge / time.Second),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}

// Of returns the function that says on whose behalf a request is made, for the
// guard of routes. Who does not say is nobody in particular.
func (o Owner) Of(secret []byte) func(*http.Request) (string, error) {
	v := visitors{secret}
	return func(r *http.Request) (string, error) {
		name := ""
		switch o.Kind {
		case ownerVisitor:
			name = v.known(r)
		case ownerCookie:
			if c, err := r.Cookie(o.Name); err == nil {
				name = c.Value
			}
		case ownerHeader:
			name = r.Header.Get(o.Name)
		}
		if name == "" {
			return nebis.Anyone, nil
		}
		return name, nil
	}
}

// secretSize is the least that NEBIS_SECRET may have.
const secretSize = 16

// Secret returns what signs the visitors' cookies: given (NEBIS_SECRET), or what
// is kept in a file beside the SQLite database, made the first time.
func Secret(given, db string) ([]byte, error) {
	if given != "" {
		if len(given) < secretSize {
			return nil, fmt.Errorf("NEBIS_SECRET has %d characters; it needs at least %d that nobody can guess", len(given), secretSize)
		}
		return []byte(given), nil
	}
	file, ok := strings.CutPrefix(db, "sqlite:")
	if !ok {
		return nil, errors.New("the visitor's cookie needs a secret that all gateways on this database share: set NEBIS_SECRET to 32 random characters, or choose another owner")
	}
	return secretFile(file + ".secret")
}

func secretFile(name string) ([]byte, error) {
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSecret(name); err == nil {
			secret, err = os.ReadFile(name)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the secret of the visitor's cookie: %w", err)
	case len(secret) < secretSize:
		return nil, fmt.Errorf("the secret in %s is too short; remove the file and a new one is made", name)
	}
	return secret, nil
}

// makeSecret lets the file appear whole, and only once however many gateways
// start.
func makeSecret(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".nebis-*.secret") // for its owner only
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	if _, err := f.WriteString(hex.EncodeToString(secret[:])); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

package gatewaytest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

const permits = `routes:
- match: POST /checkout
  permit: /may
`

// Case 16. The right to order is the shop's to give, and it is asked each time.
func TestARightThatWasRevokedEndsTheReplay(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			shop := Open(t, k)
			file := filepath.Join(t.TempDir(), "nebis.yaml")
			if err := os.WriteFile(file, []byte(permits), 0o600); err != nil {
				t.Fatal(err)
			}
			gate := Front(t, shop.URL, "--config", file)
			token, cookie := signedIn(t, gate.URL)
			want := func(key string, want answer) {
				t.Helper()
				if got := order(t, gate.URL+"/checkout", key+token, "Cookie", cookie); got != want {
					t.Errorf("%s: %v, want %v", key, got, want)
				}
			}
			want("k", created)
			want("k", replayed)
			unlock := shop.Lock()
			want("k", answer{403, "", ""})
			want("another", answer{403, "", ""})
			unlock()
			want("k", replayed)
			shop.Want(1)
		})
	}
}

var tokenField = regexp.MustCompile(`name="token" value="(\w+)"`)

// signedIn is what a form and a cookie of the shop have to show, where it has any.
func signedIn(t *testing.T, url string) (field, cookie string) {
	t.Helper()
	res, err := http.Get(url + "/checkout")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if m := tokenField.FindSubmatch(page); m != nil {
		field = "&token=" + string(m[1])
	}
	for _, c := range res.Cookies() {
		cookie = c.Name + "=" + c.Value
	}
	return field, cookie
}

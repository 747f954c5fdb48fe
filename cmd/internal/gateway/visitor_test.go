package gateway

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
)

func TestTheOwnerOfARequest(t *testing.T) {
	secret := []byte("0123456789abcdef")
	cookie := visitors{secret}.welcome(false)
	name, _, _ := strings.Cut(cookie.Value, ".")
	other := visitors{[]byte("fedcba9876543210")}.welcome(false)
	for _, c := range []struct{ owner, header, value, want string }{
		{"visitor", "Cookie", cookie.Name + "=" + cookie.Value, name},
		{"visitor", "Cookie", cookie.Name + "=forged.x; " + cookie.Name + "=" + cookie.Value, name},
		{"visitor", "Cookie", "", nebis.Anyone},
		{"visitor", "Cookie", other.Name + "=" + other.Value, nebis.Anyone},
		{"visitor", "Cookie", cookie.Name + "=" + name, nebis.Anyone},
		{"visitor", "Cookie", cookie.Name + "=" + name + ".", nebis.Anyone},
		{"visitor", "Cookie", cookie.Name + "=" + cookie.Value + "x", nebis.Anyone},
		{"cookie:sid", "Cookie", "sid=17", "17"},
		{"cookie:sid", "Cookie", "sid=", nebis.Anyone},
		{"header:X-User", "X-User", "ann", "ann"},
		{"header:X-User", "X-Other", "ann", nebis.Anyone},
		{"none", "Cookie", cookie.Name + "=" + cookie.Value, nebis.Anyone},
	} {
		o, err := parseOwner(c.owner)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set(c.header, c.value)
		if got, err := o.Of(secret)(r); got != c.want || err != nil {
			t.Errorf("%s of %s: %q, %v; wanted %q", c.owner, c.value, got, err, c.want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.AddCookie(visitors{}.welcome(false))
	if got := (visitors{}).known(r); got != "" {
		t.Errorf("without a secret anybody is known, as %s", got)
	}
}

func TestTheSecretIsMadeOnceAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.db")
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 20 {
		all.Go(func() {
			secret, err := Secret("", "sqlite:"+file)
			mu.Lock()
			defer mu.Unlock()
			if seen[string(secret)] = true; err != nil || len(secret) < 32 {
				t.Errorf("%q, %v", secret, err)
			}
		})
	}
	all.Wait()
	info, err := os.Stat(file + ".secret")
	if len(seen) != 1 || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%d secrets; %v %v", len(seen), info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".nebis*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

func TestASecretThatCannotBeUsedIsRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(empty+".secret", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ given, db, says string }{
		{"short", "sqlite:x.db", "at least 16"},
		{"", "postgres://db/shop", "NEBIS_SECRET"},
		{"", "sqlite:/nowhere/x.db", "secret"},
		{"", "sqlite:" + empty, "too short"},
	} {
		if _, err := Secret(c.given, c.db); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q %q: %v", c.given, c.db, err)
		}
	}
	if got, err := Secret("0123456789abcdef", "postgres://db/shop"); err != nil || string(got) != "0123456789abcdef" {
		t.Errorf("%q %v", got, err)
	}
}

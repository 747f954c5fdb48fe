package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// notified is a site that takes callbacks; the provider is known once its keys are.
type notified struct {
	url      string
	provider atomic.Pointer[callback.Provider]
	last     atomic.Pointer[[]byte] // the last request, as it came
	seen     atomic.Int64           // whose signature held
	answer   func(w http.ResponseWriter, n int64)
}

func takes(t *testing.T) *notified {
	t.Helper()
	s := &notified{answer: func(w http.ResponseWriter, _ int64) { _, _ = w.Write([]byte("success")) }}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		s.last.Store(&text)
		_, body, _ := strings.Cut(string(text), "\r\n\r\n")
		p := s.provider.Load()
		if p == nil {
			http.Error(w, "no keys", http.StatusInternalServerError)
			return
		}
		if _, err := p.Read(r, []byte(body)); err != nil {
			http.Error(w, "fail", http.StatusUnauthorized)
			return
		}
		s.answer(w, s.seen.Add(1))
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/notify"
	return s
}

// learns the keys that fire has put into its file.
func (s *notified) learns(t *testing.T, name, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	var keys callbacktest.Keys
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	sender, err := callbacktest.Makers[name](keys)
	if err != nil {
		t.Fatal(err)
	}
	s.provider.Store(&sender.Provider)
}

func TestFireAndExplain(t *testing.T) {
	for name := range callbacktest.Makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, keys := takes(t), filepath.Join(t.TempDir(), "keys.json")
			fire := []string{"callback", "fire", "--provider", name, "--url", s.url, "--keys", keys, "--gap", "0s"}
			code, out, _ := call(t, nil, fire...)
			if code != 1 || !strings.Contains(out, "New test keys") || !strings.Contains(out, "None was acknowledged; the keys are new") {
				t.Errorf("%d\n%s", code, out)
			}
			if info, err := os.Stat(keys); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", info.Mode(), err)
			}
			s.learns(t, name, keys)
			code, out, _ = call(t, nil, append(fire, "--parallel", "--times", "5", "--order", "77")...)
			if code != 0 || s.seen.Load() != 5 || !strings.Contains(out, "All 5 were acknowledged") || strings.Contains(out, "anybody") {
				t.Errorf("%d, %d seen\n%s", code, s.seen.Load(), out)
			}
			s.explained(t, name, keys)
		})
	}
}

func TestExplainTellsWhatIsTakenForTheSame(t *testing.T) {
	for want, e := range map[string]callback.Event{
		"P7/paid":                   {Payment: "P7", State: callback.Paid},
		"P7/refund/R1":              {Payment: "P7", State: callback.Refunded, Refund: "R1"},
		"none: it names no payment": {State: callback.Refunded, Refund: "R1"},
		"none: it tells of a refund, and not of which": {Payment: "P7", State: callback.Refunded},
	} {
		if got := business(&e); got != want {
			t.Errorf("%+v: got %q, want %q", e, got, want)
		}
	}
}

// explained explains the last request that came.
func (s *notified) explained(t *testing.T, name, keys string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "request.txt")
	for what, c := range map[string]struct {
		text string
		args []string
		code int
		want []string
	}{
		"as it came":            {string(*s.last.Load()), []string{"--keys", keys}, 0, []string{name, "signature: holds", "order:     77", "payment:   P77", "business:  P77/paid"}},
		"as an editor saves it": {strings.ReplaceAll(string(*s.last.Load()), "\r\n", "\n") + "\n", []string{"--keys", keys}, 0, []string{"signature: holds"}},
		"without keys":          {string(*s.last.Load()), nil, 0, []string{name, "key:", "not checked"}},
		"changed":               {strings.Replace(strings.Replace(string(*s.last.Load()), "P77", "P78", 1), "ciphertext\":\"", "ciphertext\":\"A", 1), []string{"--keys", keys}, 1, []string{"does not hold"}},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errors := call(t, nil, append([]string{"callback", "explain", file}, c.args...)...)
		for _, want := range c.want {
			if name == "webhooks" { // the notices are the sender's own
				want = strings.NewReplacer("order:     77", "", "payment:   P77", "", "P77/paid", "none: it names no payment").Replace(want)
			}
			if code != c.code || !strings.Contains(out, want) {
				t.Errorf("%s: %d, no %q in\n%s%s", what, code, want, out, errors)
			}
		}
	}
}

func TestFireSeesWhatASiteDoesWrong(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, n int64)
		code   int
		want   string
	}{
		"the second time an error": {func(w http.ResponseWriter, n int64) {
			if n > 1 {
				w.WriteHeader(500)
			}
			_, _ = w.Write([]byte("success"))
		}, 1, "1 of 3 was acknowledged"},
		"200 without the word":  {func(http.ResponseWriter, int64) {}, 1, "None was acknowledged: the provider would send"},
		"a redirect":            {func(w http.ResponseWriter, _ int64) { w.Header().Set("Location", "/login"); w.WriteHeader(302) }, 1, `302 "" to /login`},
		"an end without answer": {func(http.ResponseWriter, int64) { panic(http.ErrAbortHandler) }, 1, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, keys := takes(t), filepath.Join(t.TempDir(), "keys.json")
			s.answer = c.answer
			environment := map[string]string{"NEBIS_CALLBACK_SECRET": "s3cret"}
			p := callback.Epay("1001", "s3cret")
			s.provider.Store(&p)
			code, out, _ := call(t, environment, "callback", "fire", "--provider", "epay", "--account", "1001", "--url", s.url, "--keys", keys, "--gap", "0s")
			if code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, "s3cret") {
				t.Errorf("%d\n%s", code, out)
			}
			if _, err := os.Stat(keys); !os.IsNotExist(err) {
				t.Error("a file was made for what was given: ", err)
			}
		})
	}
}

func TestFireTellsOfASiteThatLooksAtNoSignature(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("success")) }))
	defer srv.Close()
	fire := []string{"callback", "fire", "--provider", "epay", "--url", srv.URL, "--keys", filepath.Join(t.TempDir(), "k"), "--times", "1"}
	if code, out, _ := call(t, nil, fire...); code != 1 || !strings.Contains(out, "anybody could have sent") {
		t.Errorf("%d\n%s", code, out)
	}
	if code, out, _ := call(t, nil, append(fire, "--no-forged")...); code != 0 || strings.Contains(out, "forged") {
		t.Errorf("%d\n%s", code, out)
	}
	code, out, _ := call(t, nil, append(fire, "--json")...)
	var v struct {
		Acknowledged int
		Good         bool
		Forged       struct{ Acknowledged bool }
		Deliveries   []struct{ Status int }
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 1 || v.Good || v.Acknowledged != 1 || !v.Forged.Acknowledged || v.Deliveries[0].Status != 200 {
		t.Errorf("%d %v\n%s", code, err, out)
	}
}

func TestCallbackUsage(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	nobody := httptest.NewServer(nil)
	nobody.Close()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("POST / HTTP/1.1\r\nHost: x\r\n\r\na=b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"callback", "want callback fire, explain or failures"},
		{"callback no", "no command"},
		{"callback fire", "--provider is missing"},
		{"callback fire --provider x --url http://a", "there are alipay"},
		{"callback fire --provider epay --url a", "--url"},
		{"callback fire --provider epay --url http://a --times 0", "--times"},
		{"callback fire --provider epay --url http://a --state lost", "--state"},
		{"callback fire --provider epay --url http://a --keys " + text, "has no keys"},
		{"callback fire --provider epay --url " + nobody.URL + " --keys " + keys, "cannot be reached"},
		{"callback explain", "want one FILE"},
		{"callback explain " + dir + "/none", "none"},
		{"callback explain " + text, "not a saved HTTP request"},
		{"callback explain " + other, "none of the providers"},
	} {
		code, _, stderr := call(t, nil, strings.Fields(c.args)...)
		if code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d %s", c.args, code, stderr)
		}
	}
}

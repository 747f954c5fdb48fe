package callbacktests

import (
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// What each provider hears, byte for byte but for the date: to what was done, the first
// time and again, and to what failed.
var wires = map[string]struct{ acknowledged, refused string }{
	"alipay":     {success, "500 Internal Server Error\r\nContent-Length: 4\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nfail"},
	"alipay-gbk": {success, "500 Internal Server Error\r\nContent-Length: 4\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nfail"},
	"wechatpay": {
		noContent,
		"500 Internal Server Error\r\nContent-Length: 49\r\nContent-Type: application/json; charset=utf-8\r\n\r\n{\"code\":\"FAIL\",\"message\":\"Internal Server Error\"}",
	},
	"epay":     {success, "500 Internal Server Error\r\nContent-Length: 4\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nfail"},
	"stripe":   {"200 OK\r\nContent-Length: 0\r\n\r\n", "500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"},
	"webhooks": {noContent, "500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"},
	"own": {
		"202 Accepted\r\nContent-Length: 12\r\nContent-Type: application/json\r\n\r\n{\"got\":true}",
		"500 Internal Server Error\r\nContent-Length: 13\r\nContent-Type: application/json\r\n\r\n{\"got\":false}",
	},
}

const success = "200 OK\r\nContent-Length: 7\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nsuccess"

// As it is written down; the length of no content is not sent.
const noContent = "204 No Content\r\nContent-Length: 0\r\n\r\n"

// Cases 49 and 51.
func TestWhatIsHeardByteForByte(t *testing.T) {
	everywhere(t, func(t *testing.T, s *shop) {
		want := wires[s.name]
		s.before = func(callback.Event) error {
			if s.runs.Load() == 1 {
				return errShop
			}
			return nil
		}
		for i, wire := range []string{want.refused, want.acknowledged, want.acknowledged, want.acknowledged} {
			if got := s.heard(t); got != wire {
				t.Errorf("answer %d:\n got %q\nwant %q", i, got, wire)
			}
		}
		s.order("paid 88 0")
	})
}

func (s *shop) heard(t *testing.T) string {
	t.Helper()
	r, err := s.sender.Request(s.url, callbacktest.Notice{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	res.Header.Del("Date")
	text, err := httputil.DumpResponse(res, true)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), "HTTP/1.1 ")
}

// A sender that is new in the package is new in these tests.
func TestEverySenderIsTried(t *testing.T) {
	for name := range callbacktest.Makers {
		if senders[name].make == nil {
			t.Errorf("%s is not among the senders of these tests", name)
		}
	}
	for name := range senders {
		if wires[name].acknowledged == "" {
			t.Errorf("it is not said what %s hears", name)
		}
	}
}

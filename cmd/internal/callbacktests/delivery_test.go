package callbacktests

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// Cases 49 and 51.
func TestThreeInARow(t *testing.T) {
	everywhere(t, func(_ *testing.T, s *shop) {
		for range 3 {
			s.want(callbacktest.Notice{}, s.acknowledged())
		}
		s.order("paid 88 0")
		s.ran(1)
		s.rows(2)
	})
}

// Case 49. The two that come while one is at work wait for it.
func TestThreeAtOnce(t *testing.T) {
	everywhere(t, func(_ *testing.T, s *shop) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { s.want(callbacktest.Notice{}, s.acknowledged()) })
		}
		all.Wait()
		s.order("paid 88 0")
		s.ran(1)
	})
}

// What is still at work is not acknowledged: it may fail yet.
func TestADeliveryUnderWayIsNotAcknowledged(t *testing.T) {
	everywhere(t, func(_ *testing.T, s *shop) {
		s.o.Wait = -1
		s.serve()
		arrived, leave := make(chan bool, 9), make(chan bool) // room for runs that should not be
		s.before = func(callback.Event) error {
			arrived <- true
			<-leave
			return nil
		}
		first := make(chan reply)
		go func() { first <- s.send(callbacktest.Notice{}) }()
		<-arrived
		for range 2 {
			s.want(callbacktest.Notice{}, s.refused(503))
		}
		close(leave)
		s.got(<-first, s.acknowledged())
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.order("paid 88 0")
		if n := len(s.failures()); n != 0 {
			s.t.Errorf("%d failures are noted", n)
		}
	})
}

func TestAForgedNoticeLeavesNoTrace(t *testing.T) {
	everywhere(t, func(t *testing.T, s *shop) {
		forger, err := senders[s.name].make(callbacktest.Keys{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := forger.Request(s.url, callbacktest.Notice{})
		if err != nil {
			t.Fatal(err)
		}
		s.got(s.do(r), s.refused(401))
		s.rows(0)
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.order("paid 88 0")
	})
}

func TestAProbeIsRefused(t *testing.T) {
	where(t, probes, func(t *testing.T, s *shop) {
		r, err := s.sender.Request(s.url, callbacktest.Notice{})
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+r.Header.Get("Wechatpay-Signature"))
		s.got(s.do(r), s.refused(401))
		s.rows(0)
	})
}

// A delivery that was acknowledged hears the same whatever the program says today.
func TestTheFirstAcknowledgementStays(t *testing.T) {
	one(t, "alipay", func(_ *testing.T, s *shop) {
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.sender.Provider.Acknowledge = func(callback.Event) callback.Answer { return callback.Answer{Status: 200, Body: "changed"} }
		s.serve()
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.got(s.send(callbacktest.Notice{Delivery: "another"}), reply{200, "changed"})
	})
}

// The provider does not wait for ever; the work goes on, and its next try finds it done.
func TestAProviderThatHasGone(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		arrived, leave := make(chan bool, 9), make(chan bool) // room for runs that should not be
		s.before = func(callback.Event) error {
			arrived <- true
			<-leave
			return nil
		}
		r, err := s.sender.Request(s.url, callbacktest.Notice{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan reply)
		go func() { first <- s.do(r.WithContext(ctx)) }()
		<-arrived
		cancel()
		<-first
		close(leave)
		s.want(callbacktest.Notice{}, s.acknowledged())
		s.order("paid 88 0")
		s.ran(1)
	})
}

func TestNoticesThatCannotBeRead(t *testing.T) {
	one(t, "epay", func(t *testing.T, s *shop) {
		for name, c := range map[string]struct {
			method, query, body string
			status              int
		}{
			"nothing":          {"GET", "", "", 401},
			"a field twice":    {"GET", "?pid=1&pid=2", "", 400},
			"half a character": {"GET", "?pid=%e", "", 400},
			"too much":         {"POST", "", strings.Repeat("x", 2<<20), 413},
		} {
			r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.query, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.do(r); got != s.refused(c.status) {
				t.Errorf("%s: %v", name, got)
			}
		}
		s.rows(0)
	})
}

func TestIdentitiesOfAnyShape(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		long := strings.Repeat("x", 300)
		for i, id := range []string{"evt 1", "通知", long, long + "y", "a\x00b", "evt\u00a01"} {
			s.want(callbacktest.Notice{Delivery: id, Order: "no such"}, s.acknowledged())
			s.want(callbacktest.Notice{Delivery: id, Order: "no such"}, s.acknowledged())
			if n := s.runs.Load(); n != int64(i+1) {
				t.Errorf("%q: %d runs in all", id, n)
			}
		}
	})
}

func TestADatabaseThatIsAway(t *testing.T) {
	everywhere(t, func(_ *testing.T, s *shop) {
		s.db.Close()
		s.want(callbacktest.Notice{}, s.refused(503))
	})
}

// A generic provider: key, scope, check and answers are functions and fields.
func TestAProviderOfOnesOwn(t *testing.T) {
	one(t, "stripe", func(t *testing.T, s *shop) {
		var answered atomic.Int64
		s.sender.Provider = callback.Provider{
			Name: "courier",
			Read: func(r *http.Request, body []byte) (callback.Event, error) {
				if r.Header.Get("Token") != "t" {
					return callback.Event{}, callback.ErrSignature
				}
				return callback.Event{Delivery: string(body), Order: "1001", Payment: "p", State: callback.Paid, Amount: 100}, nil
			},
			Acknowledge: func(e callback.Event) callback.Answer {
				answered.Add(1)
				return callback.Answer{Status: 202, Type: "application/json", Body: `{"got":"` + e.Delivery + `"}`}
			},
		}
		s.serve()
		post := func(token, body string) reply {
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Token", token)
			return s.do(r)
		}
		for _, c := range []struct {
			token, body string
			want        reply
		}{{"x", "7", reply{401, ""}}, {"t", "", reply{400, ""}}, {"t", "7", reply{202, `{"got":"7"}`}}, {"t", "7", reply{202, `{"got":"7"}`}}} {
			if got := post(c.token, c.body); got != c.want {
				t.Errorf("%s %s: %v", c.token, c.body, got)
			}
		}
		if n := answered.Load(); n != 1 {
			t.Errorf("the acknowledgement was made %d times", n)
		}
		s.order("paid 1 0")
	})
}

package httptests

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// leased is a site with one handler under a lease, at every path. It counts its runs.
func leased(t *testing.T, c dbtest.Config, route *nebishttp.Route, h http.HandlerFunc) *site {
	t.Helper()
	return newSite(t, c, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", s.m.Lease("pay", route)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.ran.Add(1)
			h(w, r)
		})))
	})
}

func (s *site) wantRuns(n int64) {
	s.t.Helper()
	if got := s.ran.Load(); got != n {
		s.t.Errorf("the handler ran %d times, want %d", got, n)
	}
}

// answers writes a status and a body, after calling f.
func answers(status int, body string, f ...func(http.ResponseWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, f := range f {
			f(w)
		}
		w.Header().Set("Location", "/orders/7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestALeaseAnswersEveryEndingOfItsHandler(t *testing.T) {
	panics := func(http.ResponseWriter, *http.Request) { panic("card 4111") }
	refused := &nebishttp.Route{NotDone: func(status int, _ http.Header, _ []byte) bool { return status == 422 }}
	only200 := &nebishttp.Route{Commit: func(status int, _ http.Header, body []byte) bool { return string(body) == "success" }}
	for _, c := range []struct {
		name   string
		route  *nebishttp.Route
		h      http.HandlerFunc
		first  int // status, and outcome
		state  string
		second int
		again  string
		runs   int64
	}{
		{"201", nil, answers(201, "paid"), 201, "created", 201, "replayed", 1},
		{"303", nil, answers(303, ""), 303, "created", 303, "replayed", 1},
		{"422", nil, answers(422, "declined"), 422, "created", 422, "replayed", 1},
		{"500", nil, answers(500, "secret"), 409, "unknown", 409, "unknown", 1},
		{"500 kept", nil, answers(500, "x", nebishttp.Keep), 500, "created", 500, "replayed", 1},
		{"200 discarded", nil, answers(200, "secret", nebishttp.Discard), 409, "unknown", 409, "unknown", 1},
		{"503 not done", nil, answers(503, "x", nebishttp.NotDone), 503, "released", 503, "released", 2},
		{"200 not done", nil, answers(200, "x", nebishttp.NotDone), 200, "released", 200, "released", 2},
		{"panic", nil, panics, 409, "unknown", 409, "unknown", 1},
		{"rule: not done", refused, answers(422, "x"), 422, "released", 422, "released", 2},
		{"rule: kept nonetheless", refused, answers(422, "x", nebishttp.Keep), 422, "created", 422, "replayed", 1},
		{"rule: no success", only200, answers(200, "fail"), 409, "unknown", 409, "unknown", 1},
		{"rule: success", only200, answers(500, "success"), 500, "created", 500, "replayed", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := leased(t, sqlite, c.route, c.h)
			first := s.send("/", "", key, "k")
			s.want(first, c.first, c.state)
			second := s.send("/", "", key, "k")
			s.want(second, c.second, c.again)
			s.wantRuns(c.runs)
			if first.body != second.body {
				t.Errorf("first %q, then %q", first.body, second.body)
			}
			if c.state == "unknown" && (strings.Contains(first.body, "secret") || strings.Contains(first.body, "4111") || first.header.Get("Retry-After") != "") {
				t.Errorf("unknown: %v %s", first.header, first.body)
			}
			if c.again == "replayed" && second.header.Get("Location") != "/orders/7" {
				t.Errorf("no Location: %v", second.header)
			}
		})
	}
}

func TestALeasedHandlerRunsOnceForManyAtOnceOnEveryDatabase(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := leased(t, c, &nebishttp.Route{Wait: longWait}, answers(201, "paid"))
		replies := make(chan reply, 50)
		for range cap(replies) {
			go func() {
				p, err := s.try(http.MethodPost, "/", strings.NewReader("x"), key, "k")
				if err != nil {
					t.Error(err)
				}
				replies <- p
			}()
		}
		for range cap(replies) {
			if p := <-replies; p.status != 201 || p.body != "paid" {
				t.Errorf("%d %s", p.status, p.body)
			}
		}
		s.wantRuns(1)
	})
}

func TestVerifyFindsOutWhatBecameOfALease(t *testing.T) {
	verdict, broken := nebis.CannotTell, error(nil)
	route := &nebishttp.Route{Verify: func(w http.ResponseWriter, r *http.Request) (nebis.Verdict, error) {
		if k, err := nebishttp.KeyOf(r); k != "k" || err != nil {
			t.Errorf("the key is %q, %v", k, err)
		}
		w.WriteHeader(http.StatusSeeOther)
		return verdict, broken
	}}
	fail := true
	h := func(w http.ResponseWriter, _ *http.Request) {
		if fail {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	s := leased(t, sqlite, route, h)
	s.want(s.send("/", "", key, "k"), 409, "unknown")
	s.want(s.send("/", "", key, "k"), 409, "unknown") // cannot tell
	verdict, broken = nebis.Happened, errors.New("away")
	s.want(s.send("/", "", key, "k"), 409, "unknown")
	s.wantRuns(1)
	verdict, broken, fail = nebis.DidNotHappen, nil, false
	s.want(s.send("/", "", key, "k"), 200, "created")
	s.wantRuns(2)

	fail = true
	s = leased(t, sqlite, route, h)
	s.want(s.send("/", "", key, "k"), 409, "unknown")
	verdict = nebis.Happened
	s.want(s.send("/", "", key, "k"), 303, "replayed")
	s.want(s.send("/", "", key, "k"), 303, "replayed")
	s.wantRuns(1)
}

func TestAPersonMayLookAndSendAFormOfUnknownOutcomeAnewOnPurpose(t *testing.T) {
	for lang, words := range map[string][2]string{
		"en": {"Check whether it is there", "It is not there: send it again"},
		"zh": {"查看是否已有结果", "确认没有，再提交一次"},
	} {
		s := leased(t, sqlite, &nebishttp.Route{Look: "/my/orders?a=1&b=2"}, answers(500, ""))
		p := s.send("/", "idempotency_key=k&item=tea", ctype, form, "Accept", html, "Accept-Language", lang)
		s.want(p, 409, "unknown")
		for _, want := range []string{
			`<a href="/my/orders?a=1&amp;b=2">` + words[0] + `</a>`, "<button>" + words[1] + "</button>",
			`<input type="hidden" name="item" value="tea">`,
		} {
			if !strings.Contains(p.body, want) {
				t.Errorf("no %s in %s", want, p.body)
			}
		}
		again := strings.Split(strings.SplitAfter(p.body, `name="idempotency_key" value="`)[1], `"`)[0]
		s.send("/", "idempotency_key="+again+"&item=tea", ctype, form, "Accept", html)
		s.wantRuns(2)
	}
}

// A key that a middleware outside makes of a business object would be the same again.
func TestAFormWhoseKeyIsNotItsFieldIsNotOfferedAgain(t *testing.T) {
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		inner := s.m.Lease("pay", nil)(answers(500, ""))
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, nebishttp.WithKey(r, "trade-7")) })
	})
	p := s.send("/", "idempotency_key=k&item=tea", ctype, form, "Accept", html)
	s.want(p, 409, "unknown")
	if strings.Contains(p.body, "<button>") {
		t.Error(p.body)
	}
}

func TestALeaseStreamsAndSaysThatItWillNotReplay(t *testing.T) {
	told := make(chan struct{})
	s := leased(t, sqlite, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Location", "/runs/1")
		_, _ = io.WriteString(w, "data: first\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-told // not before the client has read the first event
		_, _ = io.WriteString(w, "data: last\n\n")
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, http.NoBody)
	req.Header.Set(key, "k")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, len("data: first\n\n"))
	if _, err := io.ReadFull(res.Body, first); err != nil {
		t.Fatal(err)
	}
	close(told)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "data: last\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if got := res.Header.Get("Idempotency-Replay"); got != "none" || res.Header.Get("Idempotency-Status") != "created" {
		t.Errorf("%v", res.Header)
	}
	again := s.send("/", "", key, "k")
	s.want(again, 410, "not-kept")
	if again.header.Get("Location") != "/runs/1" {
		t.Errorf("%v", again.header)
	}
	s.wantRuns(1)
}

// A client that has got a part must not take it for the whole, and the key must not
// be free.
func TestAStreamThatBreaksOffIsUnknown(t *testing.T) {
	s := leased(t, sqlite, nil, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "part")
		_ = http.NewResponseController(w).Flush()
		panic("broken")
	})
	if p, err := s.try(http.MethodPost, "/", http.NoBody, key, "k"); err == nil {
		t.Errorf("%d %q", p.status, p.body)
	}
	s.want(s.send("/", "", key, "k"), 409, "unknown")
	s.wantRuns(1)
}

func TestLargeBodiesPassWhereTheRouteSaysSo(t *testing.T) {
	big := strings.Repeat("0123456789", 10)
	route := &nebishttp.Route{Stream: true, MaxRequest: 50, MaxAnswer: 50}
	s := leased(t, sqlite, route, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != 100 {
			t.Errorf("%d, %v", r.ContentLength, err)
		}
		w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
		for _, b := range [][]byte{body, body} {
			_, _ = w.Write(b)
		}
	})
	first := s.send("/", big, key, "k")
	s.want(first, 200, "created")
	if first.body != big+big || first.header.Get("Idempotency-Replay") != "none" {
		t.Errorf("%v %q", first.header, first.body)
	}
	s.want(s.send("/", big, key, "k"), 410, "not-kept")
	s.want(s.send("/", strings.Repeat("x", 100), key, "k"), 422, "mismatch")
	s.want(s.send("/", big+"1", key, "k"), 422, "mismatch")
	s.wantRuns(1)

	// What a replay would not show is not held either, nor told.
	s = leased(t, sqlite, route, answers(500, big+big))
	p := s.send("/", big, key, "k")
	s.want(p, 409, "unknown")
	if strings.Contains(p.body, "0123") {
		t.Error(p.body)
	}
}

// In a transaction a large body would hold it open while it comes.
func TestLargeBodiesDoNotPassIntoATransaction(t *testing.T) {
	s := orders(t, sqlite, &nebishttp.Route{Stream: true, MaxRequest: 50}, nil)
	s.want(s.send("/", strings.Repeat("x", 51), key, "k"), 413, "invalid")
	s.wantOrders(0)
}

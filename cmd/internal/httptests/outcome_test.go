package httptests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// outcomes is a site with a leased route, one in a transaction, and what tells of them.
func outcomes(t *testing.T, c dbtest.Config, h http.HandlerFunc) *site {
	t.Helper()
	return newSite(t, c, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("/pay", s.m.Lease("pay", nil)(h))
		mux.Handle("/orders", s.m.Tx("order", s.place(nil), nil))
		mux.Handle("/pay/outcome", s.m.Outcome("pay"))
		mux.Handle("/orders/outcome", s.m.Outcome("order"))
	})
}

func (s *site) ask(path string, pairs ...string) reply {
	s.t.Helper()
	p, err := s.try(http.MethodGet, path, http.NoBody, pairs...)
	if err != nil {
		s.t.Fatal(err)
	}
	p.body = strings.TrimSpace(p.body)
	return p
}

func TestTheOwnerOfAKeyIsToldWhatBecameOfIt(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		arrived, leave := make(chan bool), make(chan int)
		s := outcomes(t, c, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- true
			status := <-leave
			if status == 0 {
				nebishttp.NotDone(w)
				status = 503
			}
			w.Header().Set("Location", "/payments/7")
			w.WriteHeader(status)
		})
		want := func(key, answer string) {
			t.Helper()
			p := s.ask("/pay/outcome?key="+key, "User", "ann")
			if p.status != 200 || p.body != answer || p.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %s, want %s", key, p.status, p.body, answer)
			}
			if again := p.header.Get("Retry-After") != ""; again != strings.Contains(answer, "in-progress") {
				t.Errorf("%s: %v", key, p.header)
			}
		}
		for key, end := range map[string]struct {
			status int
			answer string
		}{
			"done":    {303, `{"outcome":"done","status":303,"location":"/payments/7"}`},
			"unknown": {500, `{"outcome":"unknown"}`},
			"freed":   {0, `{"outcome":"none"}`},
		} {
			want(key, `{"outcome":"none"}`)
			ended := make(chan reply)
			go func() {
				p, _ := s.try(http.MethodPost, "/pay", http.NoBody, "Idempotency-Key", key, "User", "ann")
				ended <- p
			}()
			<-arrived
			want(key, `{"outcome":"in-progress"}`)
			leave <- end.status
			<-ended
			want(key, end.answer)
		}
		if p := s.ask("/pay/outcome", "Idempotency-Key", `"done"`, "User", "bob"); p.body != `{"outcome":"none"}` {
			t.Errorf("another owner is told %s", p.body)
		}
		if p := s.ask("/pay/outcome", "Idempotency-Key", `"done"`, "User", "ann"); !strings.Contains(p.body, "/payments/7") {
			t.Errorf("by the header: %s", p.body)
		}
	})
}

func TestTheOutcomeOfATransaction(t *testing.T) {
	s := outcomes(t, sqlite, nil)
	s.send("/orders", "", key, "k")
	if p := s.ask("/orders/outcome?key=k"); p.body != `{"outcome":"done","status":201,"location":"/orders/1"}` {
		t.Error(p.body)
	}
	if p := s.ask("/pay/outcome?key=k"); p.body != `{"outcome":"none"}` {
		t.Errorf("of another scope: %s", p.body)
	}
	if n := s.records(); n != 1 {
		t.Errorf("asking left %d rows", n)
	}
}

func TestAskingForNoKeyIsRefused(t *testing.T) {
	s := outcomes(t, sqlite, nil)
	s.want(s.ask("/pay/outcome"), 400, "invalid")
	s.want(s.ask("/pay/outcome?key=a%20b"), 400, "invalid")
	if p := s.send("/pay/outcome?key=k", ""); p.status != 405 || p.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", p.status, p.header)
	}
	_ = s.db.Close()
	s.want(s.ask("/pay/outcome?key=k"), 503, "unavailable")
}

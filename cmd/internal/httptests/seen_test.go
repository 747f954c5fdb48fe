package httptests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func TestALateRetryIsToldThatItWasDone(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		route := nebishttp.Route{Keep: time.Hour, KeepSeen: 48 * time.Hour}
		s := newSite(t, c, &nebishttp.Options{Route: route}, func(s *site, mux *http.ServeMux) {
			mux.Handle("/orders", s.m.Tx("order", s.place(nil), nil))
			mux.Handle("/pay", s.m.Lease("pay", nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.ran.Add(1)
				w.WriteHeader(http.StatusCreated)
			})))
			mux.Handle("/pay/outcome", s.m.Outcome("pay"))
		})
		for _, path := range []string{"/orders", "/pay"} {
			s.want(s.send(path, "", key, "k"), 201, "created")
			s.want(s.send(path, "", key, "k"), 201, "replayed")
		}
		if _, err := s.db.ExecContext(t.Context(), `UPDATE idempotency SET expires_at = created_at`); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, path := range []string{"/orders", "/pay"} {
				s.want(s.send(path, "", key, "k"), 410, "not-kept")
			}
			if p := s.ask("/pay/outcome?key=k"); p.status != 200 || p.body != `{"outcome":"done"}` {
				t.Errorf("outcome: %d %s", p.status, p.body)
			}
			if _, err := s.store.Sweep(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.ran.Load(); n != 2 {
			t.Errorf("%d runs", n)
		}
		s.wantOrders(1)
	})
}

func TestALatePersonIsLedToWhatWasDone(t *testing.T) {
	s := newSite(t, sqlite, &nebishttp.Options{Route: nebishttp.Route{KeepSeen: 48 * time.Hour, Look: "/my/orders"}}, func(s *site, mux *http.ServeMux) {
		mux.Handle("/orders", s.m.Tx("order", s.place(nil), nil))
		mux.Handle("/pay", s.m.Lease("pay", nil)(answers(200, "")))
	})
	for _, path := range []string{"/orders", "/pay"} {
		post := func(lang string) reply {
			return s.send(path, "idempotency_key=k&item=tea", ctype, form, "Accept", html, "Accept-Language", lang)
		}
		post("en")
		if _, err := s.db.ExecContext(t.Context(), `UPDATE idempotency SET expires_at = created_at`); err != nil {
			t.Fatal(err)
		}
		for lang, words := range map[string]string{"en": "See what was done", "zh": "查看处理结果"} {
			p := post(lang)
			s.want(p, 410, "not-kept")
			if link := `<a href="/my/orders">` + words + `</a>`; !strings.Contains(p.body, link) {
				t.Errorf("%s: no %s in %s", path, link, p.body)
			}
		}
	}
}

func TestTheRowsOfALateBatchAreToldThatTheyWereDone(t *testing.T) {
	s := batches(t, sqlite, nil, &nebishttp.BatchRoute{Row: "line", KeepSeen: 48 * time.Hour})
	rows := []line{{Line: 1, Item: "tea"}, {Line: 2, Item: "milk"}}
	s.batch("b", rows)
	if _, err := s.db.ExecContext(t.Context(), `UPDATE idempotency SET expires_at = created_at`); err != nil {
		t.Fatal(err)
	}
	_, told := s.batch("b", rows)
	for _, row := range told {
		if row.Status != "failed" || row.Error.Status != http.StatusGone {
			t.Errorf("%+v", row)
		}
	}
	if len(told) != 2 || s.ran.Load() != 2 {
		t.Errorf("%d told, %d ran", len(told), s.ran.Load())
	}
}

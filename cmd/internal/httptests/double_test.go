package httptests

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// atOnce sends the same request n times in parallel.
func (s *site) atOnce(n int, body string, pairs ...string) []reply {
	s.t.Helper()
	got := make([]reply, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			p, err := s.try(http.MethodPost, "/", strings.NewReader(body), pairs...)
			if err != nil {
				s.t.Error(err)
			}
			got[i] = p
		})
	}
	all.Wait()
	return got
}

func slow(d time.Duration) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
		time.Sleep(d)
		nebishttp.SeeOther(w, r, "/orders/1")
		return nil
	}
}

func TestEveryClickEndsOnTheSameResultPage(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, nil, slow(300*time.Millisecond))
		created := 0
		for _, p := range s.atOnce(20, "item=tea&idempotency_key=k", ctype, form, "Accept", html) {
			if p.status != 303 || p.header.Get("Location") != "/orders/1" {
				t.Errorf("got %d %v %s", p.status, p.header, p.body)
			}
			if p.outcome() == "created" {
				created++
			}
		}
		if created != 1 {
			t.Errorf("%d clicks say that they did it", created)
		}
		s.wantOrders(1)
	})
}

func TestAProgramThatDoesNotWaitIsToldToAskAgain(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := orders(t, c, &nebishttp.Route{Wait: -1}, slow(300*time.Millisecond))
		busy := 0
		for _, p := range s.atOnce(5, "{}", key, "k", ctype, js) {
			switch p.status {
			case 303:
			case 409:
				busy++
				s.want(p, 409, "in-progress")
				if p.header.Get("Retry-After") == "" || p.header.Get(ctype) != "application/problem+json" {
					t.Errorf("got %v", p.header)
				}
			default:
				t.Errorf("got %d %s", p.status, p.body)
			}
		}
		if busy == 0 {
			t.Error("nobody was told")
		}
		s.want(s.send("/", "{}", key, "k", ctype, js), 303, "replayed")
		s.wantOrders(1)
	})
}

func TestAFormWaitsLongerThanAProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds")
	}
	s := orders(t, sqlite, nil, slow(3*time.Second))
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.want(s.send("/", "item=tea", ctype, form, "Accept", html, key, "k"), 303, "created") })
	for s.ran.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	all.Go(func() { s.want(s.send("/", "item=tea", ctype, form, "Accept", html, key, "k"), 303, "replayed") })
	all.Go(func() { s.want(s.send("/", "item=tea", ctype, form, "Accept", "*/*", key, "k"), 409, "in-progress") })
}

func TestAWaiterThatAskedForSomethingElseGetsNoAnswerOfTheFirst(t *testing.T) {
	s := orders(t, sqlite, nil, slow(300*time.Millisecond))
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.want(s.send("/", `{"amount":1}`, key, "k", ctype, js), 303, "created") })
	for s.ran.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.want(s.send("/", `{"amount":999}`, key, "k", ctype, js), 422, "mismatch")
}

func TestWhenTheFirstFailsOneOfTheOthersGoesOn(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		var mu sync.Mutex
		runs := 0
		s := orders(t, c, nil, func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if runs++; runs < 3 {
				w.WriteHeader(http.StatusInternalServerError)
				return nil
			}
			_, err := fmt.Fprint(w, "done")
			return err
		})
		count := map[string]int{}
		for _, p := range s.atOnce(10, "", key, "k") {
			count[p.outcome()]++
		}
		if count["released"] != 2 || count["created"] != 1 || count["replayed"] != 7 {
			t.Errorf("got %v", count)
		}
		s.wantOrders(1)
	})
}

package shop

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// Everything here holds on every database.

func TestAHundredPostsOfOneKeyToTheAPIAreOneOrder(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		c := serve(t, s)
		answers := atOnce(100, func(int) answer {
			return c.untilDone(func() answer { return c.order("one-key", `{"item":"tea","qty":2,"delay_ms":100}`) })
		})
		for _, a := range answers {
			if a.status != http.StatusCreated || a.body != answers[0].body || a.header.Get("Location") != "/api/orders/1" {
				t.Fatalf("got %d %s %s, the first sender %s", a.status, a.header, a.body, answers[0].body)
			}
		}
		if got, want := decode[order](t, answers[0].body), (order{1, "tea", 2, 20, "accepted"}); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		s.wantBooks(t, "tea", 1, 20, 2)
	})
}

func TestAHundredPostsOfOneFormAreOneOrder(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		c := serve(t, s)
		fields := url.Values{"idempotency_key": {"form-key"}, "item": {"tea"}, "qty": {"1"}, "delay_ms": {"100"}}
		created := 0
		for _, a := range atOnce(100, func(int) answer { return c.submit("/orders", fields) }) {
			if a.status != http.StatusSeeOther || a.header.Get("Location") != "/orders/1" {
				t.Fatalf("got %d %s", a.status, a.header)
			}
			if a.outcome() == "created" {
				created++
			}
		}
		if created != 1 {
			t.Errorf("%d senders were told that they created it", created)
		}
		s.wantBooks(t, "tea", 1, 10, 1)
	})
}

// untilDone sends again while the first request is still running, as a program does.
func (c client) untilDone(send func() answer) answer {
	for {
		a := send()
		if a.status != http.StatusConflict || a.outcome() != "in-progress" {
			return a
		}
		time.Sleep(50 * time.Millisecond) // less than Retry-After: a test is impatient
	}
}

func (s *Shop) wantBooks(t *testing.T, item string, orders, points, sold int) {
	t.Helper()
	o, p, n := s.books(t, guest, item)
	if o != orders || p != points || n != sold {
		t.Errorf("the books say %d orders, %d points, %d sold; want %d, %d, %d", o, p, n, orders, points, sold)
	}
}

func TestWithoutProtectionEachPostIsAnOrder(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		c := serve(t, s)
		fields := url.Values{"item": {"tea"}, "qty": {"1"}}
		places := map[string]bool{}
		for _, a := range atOnce(20, func(int) answer { return c.submit("/naive/orders", fields) }) {
			places[a.want(t, http.StatusSeeOther, "").header.Get("Location")] = true
		}
		if len(places) != 20 {
			t.Errorf("20 posts led to %d orders", len(places))
		}
		s.wantBooks(t, "tea", 20, 200, 20)
	})
}

func TestWhatFailsWritesNothingAndFreesTheKey(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		c := serve(t, s)
		for i, fail := range []string{"error", "panic", "500"} {
			key := "key-" + fail
			fields := url.Values{"idempotency_key": {key + "-form"}, "item": {"biscuits"}, "qty": {"1"}, "fail": {fail}}
			for what, a := range map[string]answer{
				"the API":              c.order(key, fmt.Sprintf(`{"item":"biscuits","qty":1,"fail":%q}`, fail)),
				"the form":             c.submit("/orders", fields),
				"the unprotected form": c.submit("/naive/orders", fields),
			} {
				if a.status != http.StatusInternalServerError {
					t.Errorf("%s, fail=%s: %d %s", what, fail, a.status, a.body)
				}
			}
			s.wantBooks(t, "biscuits", 2*i, 20*i, 2*i)

			fields.Del("fail")
			c.order(key, `{"item":"biscuits","qty":1}`).want(t, 201, "created")
			c.submit("/orders", fields).want(t, 303, "created")
			s.wantBooks(t, "biscuits", 2*i+2, 20*i+20, 2*i+2)
		}
	})
}

func TestTheLastCupIsSoldOnceAndItsRefusalIsKept(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		c := serve(t, s)
		sold := ""
		for i, a := range atOnce(10, func(i int) answer {
			return c.order(fmt.Sprint("cup-", i), `{"item":"last-cup","qty":1}`)
		}) {
			switch {
			case a.status == http.StatusCreated && sold == "":
				sold = fmt.Sprint("cup-", i)
			case a.status != http.StatusConflict || decode[problem](t, a.body) != soldOut:
				t.Errorf("got %d %s", a.status, a.body)
			}
		}
		s.wantBooks(t, "last-cup", 1, 10, 1)

		c.order(sold, `{"item":"last-cup","qty":1}`).want(t, 201, "replayed")
		c.order("late", `{"item":"last-cup","qty":1}`).want(t, 409, "created")
		if _, err := s.db.ExecContext(t.Context(), `UPDATE nebis_demo_goods SET stock = 5 WHERE code = 'last-cup'`); err != nil {
			t.Fatal(err)
		}
		again := c.order("late", `{"item":"last-cup","qty":1}`).want(t, 409, "replayed")
		if decode[problem](t, again.body) != soldOut {
			t.Errorf("replayed %s", again.body)
		}
	})
}

func TestEveryFieldCounts(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		c := serve(t, openShop(t, dbURL))
		c.order("k", `{"item":"tea","qty":1}`).want(t, 201, "created")
		c.order("k", `{"qty":1, "item":"tea"}`).want(t, 201, "replayed")
		for _, other := range []string{`{"item":"tea","qty":2}`, `{"item":"biscuits","qty":1}`,
			`{"item":"tea","qty":1,"delay_ms":1}`, `{"item":"tea","qty":1,"fail":"error"}`} {
			c.order("k", other).want(t, 422, "mismatch")
		}
	})
}

func TestVisitorsShareNoKeys(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		c := serve(t, openShop(t, dbURL))
		ann, ben := c, c
		ann.cookie, ben.cookie = "shop_visitor=ann", "shop_visitor=ben"
		one := ann.order("k", `{"item":"tea","qty":1}`).want(t, 201, "created")
		two := ben.order("k", `{"item":"tea","qty":1}`).want(t, 201, "created")
		if one.body == two.body {
			t.Errorf("both got %s", one.body)
		}
		if c.list().Count != 2 {
			t.Errorf("got %v", c.list())
		}
	})
}

func TestManyShopsOpenOnOneNewDatabaseAtOnce(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		shops := make([]*Shop, 8)
		for i := range shops {
			shops[i] = newShop(t, dbURL)
		}
		failed := make([]error, len(shops))
		atOnce(len(shops), func(i int) answer {
			failed[i] = shops[i].Migrate(t.Context())
			return answer{}
		})
		for _, err := range failed {
			if err != nil {
				t.Error(err)
			}
		}
		left, err := shops[0].stock(t.Context())
		if err != nil || len(left) != 2 || left["last-cup"] != 1 {
			t.Errorf("on the shelf: %v, %v", left, err)
		}
	})
}

func TestOpeningAgainDoesNotRefillTheShelf(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		s := openShop(t, dbURL)
		serve(t, s).order("k", `{"item":"last-cup","qty":1}`).want(t, 201, "created")
		left, err := openShop(t, dbURL).stock(t.Context())
		if err != nil || left["last-cup"] != 0 {
			t.Errorf("on the shelf: %v, %v", left, err)
		}
	})
}

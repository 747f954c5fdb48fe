package shop

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

func TestTheAPIAnswersToTheLetter(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	if got := c.get("/api/orders").want(t, 200, "").body; got != `{"orders":[],"count":0}`+"\n" {
		t.Errorf("an empty list is %s", got)
	}
	made := c.order("k1", `{"item":"tea","qty":1}`).want(t, 201, "created")
	if want := `{"id":1,"item":"tea","qty":1,"points":10,"status":"accepted"}` + "\n"; made.body != want {
		t.Errorf("got %s, want %s", made.body, want)
	}
	if made.header.Get("Location") != "/api/orders/1" || made.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", made.header)
	}
	if got := c.get("/api/orders/1").want(t, 200, "").body; got != made.body {
		t.Errorf("GET gives %s, POST gave %s", got, made.body)
	}
	c.order("k2", `{"item":"biscuits","qty":3}`).want(t, 201, "created")
	c.submit("/naive/orders", map[string][]string{"item": {"tea"}, "qty": {"1"}}).want(t, 303, "")
	for limit, want := range map[string]int{"": 3, "?limit=2": 2, "?limit=0": 0, "?limit=99": 3} {
		list := decode[orderList](t, c.get("/api/orders"+limit).want(t, 200, "").body)
		if len(list.Orders) != want || list.Count != 3 {
			t.Errorf("limit %q: %d orders, count %d", limit, len(list.Orders), list.Count)
		}
	}
	if newest := c.list().Orders[0]; newest.ID != 3 {
		t.Errorf("the list begins with %v", newest)
	}
}

func TestTheAPIAnswersPoliteErrors(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	for path, status := range map[string]int{
		"/api/orders/1": 404, "/api/orders/x": 404, "/api/nothing": 404,
		"/api/orders?limit=-1": 400, "/api/orders?limit=x": 400,
	} {
		a := c.get(path).want(t, status, "")
		if p := decode[problem](t, a.body); p.Status != status || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v %s", path, a.header, a.body)
		}
	}
	c.order("", `{"item":"tea","qty":1}`).want(t, 400, "invalid")
	if allowed := c.do("OPTIONS", "/api/orders", "", "", "").want(t, 204, "").header.Get("Allow"); !strings.Contains(allowed, "POST") {
		t.Errorf("Allow: %s", allowed)
	}
	c.do("DELETE", "/orders", "", "", "").want(t, 405, "")
}

func TestAnInputErrorLeavesTheKeyFree(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	for _, body := range []string{
		``, `{`, `[]`, `null`, `{}`, `{"item":"tea","qty":1} {}`,
		`{"item":"coffee","qty":1}`, `{"item":"tea"}`, `{"qty":1}`,
		`{"item":"tea","qty":0}`, `{"item":"tea","qty":100}`, `{"item":"tea","qty":-1}`, `{"item":"tea","qty":1.5}`,
		`{"item":"tea","qty":99999999999999999999}`, `{"item":"tea","qty":true}`, `{"item":["tea"],"qty":1}`,
		`{"item":"tea","qty":1,"delay_ms":-1}`, `{"item":"tea","qty":1,"delay_ms":10001}`, `{"item":"tea","qty":1,"delay_ms":"soon"}`,
		`{"item":"tea","qty":1,"fail":"badly"}`,
	} {
		c.order("k", body).want(t, 400, "released")
	}
	c.do("POST", "/api/orders", "text/plain", `{"item":"tea","qty":1}`, "k").want(t, 400, "released")
	c.order("k", `{"item":"tea","qty":99}`).want(t, 201, "created")
	if n := c.list().Count; n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestFieldsAreTheSameInJSONAndInForms(t *testing.T) {
	want := wish{"tea", 7, 10 * time.Second, "500"}
	for kind, body := range map[string]string{
		"application/json":                  `{"item":"tea","qty":7,"delay_ms":10000,"fail":"500"}`,
		"application/json; charset=utf-8":   `{"item":"tea","qty":7,"delay_ms":10000,"fail":500,"note":null}`,
		"application/x-www-form-urlencoded": `item=tea&qty=7&delay_ms=10000&fail=500`,
		"multipart/form-data; boundary=b": "--b\r\nContent-Disposition: form-data; name=\"item\"\r\n\r\ntea\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"qty\"\r\n\r\n7\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"delay_ms\"\r\n\r\n10000\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"fail\"\r\n\r\n500\r\n--b--\r\n",
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/orders?qty=1", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		if got, err := readWish(r); err != nil || got != want {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
}

func TestNoWriteAndNoAPIAnswerSetsACookie(t *testing.T) {
	c := serve(t, openShop(t, dburltest.SQLite(t)))
	fields := map[string][]string{"item": {"tea"}, "qty": {"1"}, "idempotency_key": {"k"}}
	for what, a := range map[string]answer{
		"the form":             c.submit("/orders", fields),
		"the unprotected form": c.submit("/naive/orders", fields),
		"a refused form":       c.submit("/orders", map[string][]string{"item": {"tea"}}),
		"the API":              c.order("k2", `{"item":"tea","qty":1}`),
		"the API's list":       c.get("/api/orders"),
		"the API's order":      c.get("/api/orders/1"),
	} {
		if got := a.header.Values("Set-Cookie"); len(got) > 0 {
			t.Errorf("%s (%d) sets %q", what, a.status, got)
		}
	}
	for _, path := range []string{"/", "/goods/tea", "/orders", "/orders/1"} {
		if got := c.get(path).header.Get("Set-Cookie"); !strings.HasPrefix(got, "shop_visitor=") {
			t.Errorf("GET %s sets %q", path, got)
		}
	}
	c = visitor(t, openShop(t, dburltest.SQLite(t)))
	if got := c.get("/").header.Values("Set-Cookie"); len(got) > 0 {
		t.Errorf("a known visitor gets %q", got)
	}
}

package nebishttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends a request with the given headers (name, value, …) through c.
func ask(c CORS, method string, headers ...string) (*httptest.ResponseRecorder, bool) {
	r, w, reached := httptest.NewRequest(method, "/orders", nil), httptest.NewRecorder(), false
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached = true })).ServeHTTP(w, r)
	return w, reached
}

func TestCORSAnswersThePreflightOfAnAllowedOrigin(t *testing.T) {
	c := CORS{Origins: []string{"https://shop.example"}, Credentials: true, Headers: []string{"X-CSRF-Token"}}
	w, reached := ask(c, "OPTIONS", "Origin", "https://shop.example", "Access-Control-Request-Method", "POST")
	h := w.Header()
	if w.Code != 204 || reached || h.Get("Access-Control-Allow-Origin") != "https://shop.example" ||
		h.Get("Access-Control-Allow-Credentials") != "true" || h.Get("Access-Control-Max-Age") != "3600" ||
		h.Get("Access-Control-Allow-Headers") != "Content-Type, Authorization, Idempotency-Key, X-CSRF-Token" ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Values("Vary")[0] != "Origin" {
		t.Errorf("%d %v", w.Code, h)
	}
}

func TestCORSLetsAPageReadWhatBecameOfItsKey(t *testing.T) {
	w, reached := ask(CORS{Origins: []string{"*"}}, "POST", "Origin", "https://any.example")
	want := "Idempotency-Status, Idempotent-Replayed, Retry-After, Location"
	if h := w.Header(); !reached || h.Get("Access-Control-Expose-Headers") != want ||
		h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v %v", reached, h)
	}
}

func TestCORSMarksNothingForOthers(t *testing.T) {
	c := CORS{Origins: []string{"https://shop.example"}, Credentials: true}
	for _, origin := range []string{"https://shop.example.evil", "http://shop.example", "null", "https://SHOP.example"} {
		for method, reaches := range map[string]bool{"OPTIONS": false, "POST": true} {
			w, reached := ask(c, method, "Origin", origin, "Access-Control-Request-Method", "POST")
			if h := w.Header(); reached != reaches || h.Get("Access-Control-Allow-Origin")+h.Get("Access-Control-Expose-Headers")+h.Get("Access-Control-Allow-Headers") != "" || h.Values("Vary")[0] != "Origin" {
				t.Errorf("%s from %s: %v %v", method, origin, reached, h)
			}
		}
	}
}

func TestCORSLeavesAPlainOPTIONSToTheSite(t *testing.T) {
	if _, reached := ask(CORS{Origins: []string{"*"}}, "OPTIONS"); !reached {
		t.Error("not reached")
	}
}

func TestCORSRefusesWhatBrowsersWould(t *testing.T) {
	for _, c := range []CORS{
		{Origins: []string{"*"}, Credentials: true},
		{Origins: []string{"shop.example"}},
		{Origins: []string{"https://shop.example/"}},
		{Origins: []string{"https://*.shop.example"}},
		{Origins: []string{""}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", c)
				}
			}()
			c.Wrap(http.NotFoundHandler())
		}()
	}
}

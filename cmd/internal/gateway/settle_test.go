package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestASiteIsNeeded(t *testing.T) {
	conf := read(t, "")
	if err := conf.Settle(); err == nil || !strings.Contains(err.Error(), "upstream: name the site") {
		t.Error(err)
	}
}

func TestAWriteHasOneRoute(t *testing.T) {
	_, err := ReadFile(strings.NewReader("routes:\n- match: POST /a?x=1&y=2\n- match: POST /b\n- match: POST  /a?y=2&x=1"), "f")
	if want := `f:4: routes[2].match: "POST /a?y=2&x=1" is that of routes[0] again`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, wanted %q", err, want)
	}
	conf := read(t, "upstream: http://x\nroutes:\n- match: POST /a\n  keep: 1h")
	if err := conf.Apply([]Override{{"protect", "--protect", []string{"POST /a", "POST /b", "POST /a"}}}); err != nil {
		t.Fatal(err)
	}
	if err := conf.Settle(); err != nil || len(conf.Routes) != 2 || conf.Routes[0].Keep != time.Hour {
		t.Errorf("said twice, meant once: %+v, error %v", conf.Routes, err)
	}
}

func TestWhatIsMostLikelyNotMeantIsWarnedOf(t *testing.T) {
	const route = "upstream: http://x\nroutes:\n- match: POST /checkout\n"
	for _, c := range []struct{ text, says string }{
		{route, "POST /checkout: no page is named under forms"},
		{route + "  kind: form\n", "POST /checkout: no page"},
		{route + "forms: GET /checkout", ""},
		{route + "  kind: api\n", ""},
		{route + "  required: true\n", ""},
		{route + "  key: form:order_no\n", ""},
		{"upstream: http://x\nforms: GET /checkout", "no route is protected"},
		{"upstream: http://x\nforms: GET /x\nroutes:\n- match: GET /pay", "GET /pay: what is asked for by a link"},
		{"upstream: http://x\nforms: GET /x\nroutes:\n- match: GET /pay\n  key: query:no", ""},
	} {
		conf := read(t, c.text)
		if got := strings.Join(conf.Warnings(), "\n"); !strings.Contains(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%q: %q, wanted %q", c.text, got, c.says)
		}
	}
}

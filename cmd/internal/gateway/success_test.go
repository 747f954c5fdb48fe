package gateway

import (
	"net/http"
	"testing"
)

func TestWhatCountsAsSuccess(t *testing.T) {
	for _, c := range []struct {
		rule           string
		status         int
		location, body string
		want           bool
	}{
		{"{}", 200, "", "fail", true},
		{"{}", 303, "/orders/1", "", true},
		{"{}", 422, "", "", false},
		{"{status: 200}", 303, "", "", false},
		{"{status: '201, 303'}", 303, "", "", true},
		{"{body: success}", 200, "", "success", true},
		{"{body: success}", 200, "", "\ufeffsuccess\r\n", true},
		{"{body: success}", 200, "", "fail", false},
		{"{body: success}", 200, "", "success?", false},
		{"{body: success}", 500, "", "success", false},
		{"{body: '*{\"ok\":*}*'}", 200, "", "x{\"ok\":\n1}", true},
		{"{body: 100%}", 200, "", "100%", true},
		{"{json: /code=0}", 200, "", `{"code":0,"data":{}}`, true},
		{"{json: /code=0}", 200, "", "\ufeff" + `{"code":0.0}`, true},
		{"{json: /code=0}", 200, "", `{"code":1}`, false},
		{"{json: /code=0}", 200, "", `{"code":"0"}`, false},
		{`{json: '/code="0"'}`, 200, "", `{"code":"0"}`, true},
		{"{json: /code=0}", 200, "", `{"code":[0]}`, false},
		{"{json: /code=0}", 200, "", `not json`, false},
		{"{json: /ok=true}", 200, "", `{"ok":true}`, true},
		{"{json: /s=paid}", 200, "", `{"s":"paid"}`, true},
		{"{json: /a~1b/0/id}", 200, "", `{"a/b":[{"id":7}]}`, true},
		{"{json: /a/id}", 200, "", `{"a":{"id":null}}`, false},
		{"{json: /a/1}", 200, "", `{"a":[1]}`, false},
		{"{json: /a/01}", 200, "", `{"a":[1,2]}`, false},
		{"{not_location: /login}", 302, "/login?back=%2Fcheckout", "", false},
		{"{not_location: /login}", 302, "https://shop.example/login", "", false},
		{"{not_location: /login.php}", 302, "login.php", "", false},
		{"{not_location: /login}", 303, "/orders/1", "", true},
		{"{not_location: '/user*'}", 302, "/user.php?act=login", "", false},
		{"{not_location: /login}", 200, "", "", true},
	} {
		conf := read(t, "routes:\n- match: POST /x\n  success: "+c.rule)
		h := http.Header{}
		if c.location != "" {
			h.Set("Location", c.location)
		}
		if got := conf.Routes[0].Success.Holds(c.status, h, []byte(c.body)); got != c.want {
			t.Errorf("%s of %d %s %q: %t", c.rule, c.status, c.location, c.body, got)
		}
	}
}

//go:build linux

package deploytest

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"testing"
)

// What a write comes to with most proxies.
var (
	once, twice = arrival{1, "502"}, arrival{2, "502"}
	dropped     = arrival{1, "closed"} // so that the browser sends again
)

func TestWhatNginxSendsAgain(t *testing.T) {
	t.Parallel()
	program := need(t, "nginx")
	open := func(servers int, next string) func(*testing.T, *deaf) string {
		return func(t *testing.T, d *deaf) string {
			g := newGround(t)
			addr := "127.0.0.1:" + g.port()
			g.nginx(program, addr, "upstream site { "+strings.Repeat("server "+d.addr+"; ", servers)+"keepalive 4; }\nserver { listen "+addr+
				"; location / { proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection \"\"; "+next+" } }\n")
			return addr
		}
	}
	const careless = "proxy_next_upstream error timeout non_idempotent;"
	runAll(t, map[string]again{
		"POST":                        {aForm, once, once, open(2, "")},
		"POST, non_idempotent":        {aForm, twice, twice, open(2, careless)},
		"POST, non_idempotent, alone": {aForm, once, twice, open(1, careless)},
		"PUT":                         {aPut, twice, twice, open(2, "")},
		"PUT, alone":                  {aPut, once, twice, open(1, "")},
		"PUT, off":                    {aPut, once, once, open(2, "proxy_next_upstream off;")},
	})
}

func TestWhatApacheSendsAgain(t *testing.T) {
	t.Parallel()
	program := need(t, "apache2")
	open := func(more string) func(*testing.T, *deaf) string {
		return func(t *testing.T, d *deaf) string {
			g := newGround(t)
			addr := "127.0.0.1:" + g.port()
			g.apache(program, addr, "Listen "+addr+"\nProxyPass \"/\" \"http://"+d.addr+"/\""+more+"\n")
			return addr
		}
	}
	runAll(t, map[string]again{
		"POST":               {aForm, once, dropped, open("")},
		"POST, disablereuse": {aForm, once, dropped, open(" disablereuse=on")},
	})
}

func TestWhatCaddySendsAgain(t *testing.T) {
	t.Parallel()
	program := need(t, "caddy")
	open := func(more string) func(*testing.T, *deaf) string {
		return func(t *testing.T, d *deaf) string {
			g := newGround(t)
			port := g.port()
			g.caddy(program, "127.0.0.1:"+port, "{\nadmin off\n}\nhttp://:"+port+" {\nbind 127.0.0.1\nreverse_proxy "+d.addr+" {\n"+more+"\n}\n}\n")
			return "127.0.0.1:" + port
		}
	}
	runAll(t, map[string]again{
		"POST":               {aForm, once, once, open("")},
		"POST, retries":      {aForm, once, once, open("lb_retries 3")},
		"POST, key, no body": {keyed, once, twice, open("")},
		"PUT, retries":       {aPut, once, once, open("lb_retries 3")},
	})
}

func TestWhatHAProxySendsAgain(t *testing.T) {
	t.Parallel()
	program := need(t, "haproxy")
	open := func(more string) func(*testing.T, *deaf) string {
		return func(t *testing.T, d *deaf) string {
			g := newGround(t)
			addr := "127.0.0.1:" + g.port()
			conf := g.write("haproxy.cfg", "defaults\nmode http\ntimeout connect 5s\ntimeout client 60s\ntimeout server 60s\nlisten shop\nbind "+addr+
				"\nserver a "+d.addr+"\n"+more)
			g.serve(addr, exec.Command(program, "-db", "-f", conf))
			return addr
		}
	}
	const all = "retry-on all-retryable-errors\n"
	runAll(t, map[string]again{
		"POST":                    {aForm, once, dropped, open("")},
		"POST, http-server-close": {aForm, once, dropped, open("option http-server-close\n")},
		"POST, retry-on":          {aForm, arrival{4, "502"}, arrival{4, "closed"}, open(all)},
		"POST, disable-l7-retry":  {aForm, once, dropped, open(all + "http-request disable-l7-retry if METH_POST\n")},
	})
}

func TestWhatGoSendsAgain(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, d *deaf) string {
		proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: d.addr}))
		t.Cleanup(proxy.Close)
		return proxy.Listener.Addr().String()
	}
	runAll(t, map[string]again{
		"POST":               {aForm, once, once, open},
		"POST, key, no body": {keyed, once, twice, open},
		"PUT":                {aPut, once, once, open},
	})
}

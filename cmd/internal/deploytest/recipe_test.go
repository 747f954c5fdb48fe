//go:build linux

package deploytest

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

// chain is a site behind the gateway behind a web server.
type chain struct {
	*ground
	*visitor
	secure, plain, inside, gate string // host:port of each
}

// newChain starts the gateway, and leaves the web servers to the test. replace is for
// the gateway's file.
func newChain(t *testing.T, replace ...string) *chain {
	t.Helper()
	g := newGround(t)
	c := &chain{ground: g, secure: "127.0.0.1:" + g.port(), plain: "127.0.0.1:" + g.port(), inside: "127.0.0.1:" + g.port()}
	c.visitor = newVisitor(t, g.certify(), c.secure, c.plain)
	if err := os.CopyFS(g.path("site"), os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(g.path("site"), 0o777); err != nil { // Apache's user writes the orders
		t.Fatal(err)
	}
	gate := gatewaytest.Front(t, "http://"+c.inside, "--config", g.write("gateway.yaml", g.recipe("gateway.yaml", replace...)))
	c.gate = strings.TrimPrefix(gate.URL, "http://")
	return c
}

// outer and inner are what a recipe has, and what takes its place here.
func (c *chain) outer(more ...string) []string {
	return append([]string{
		"127.0.0.1:8080", c.gate, "/etc/ssl/shop.example.pem", c.path("shop.pem"), "/etc/ssl/shop.example.key", c.path("shop.key"),
	}, more...)
}

func (c *chain) inner(more ...string) []string {
	return append([]string{"127.0.0.1:8081", c.inside, "/var/www/shop", c.path("site")}, more...)
}

// sees fails the test unless PHP is told that a visitor came so.
func (c *chain) sees(want string) {
	c.visitor.Helper()
	if _, got := c.get("https://" + shop + "/"); got != want {
		c.visitor.Errorf("PHP sees\n%swant\n%s", got, want)
	}
}

const secureVisitor = "HTTPS=on\nREQUEST_SCHEME=https\nHTTP_HOST=" + shop + "\nSERVER_PORT=443\nREMOTE_ADDR=" + visitorAddr + "\n"

var keyField = regexp.MustCompile(`name="idempotency_key" value="([^"]+)"`)

// works fails the test unless everything is as the recipe promises.
func (c *chain) works() {
	t := c.visitor
	t.Helper()
	c.sees(secureVisitor)
	if _, said := c.get("https://" + shop + "/said"); strings.Contains(said, forged) || strings.Contains(said, "gopher") {
		t.Errorf("PHP is told what the visitor has made up: %s", said)
	}
	page, body := c.get("https://" + shop + "/checkout")
	key := keyField.FindStringSubmatch(body)
	if key == nil {
		t.Fatalf("the form has no key: %s", body)
	}
	if cookies := page.Cookies(); len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("the page sets %v", cookies)
	}
	if script, _ := c.get("https://" + shop + "/.nebis/client.js"); script.StatusCode != http.StatusOK {
		t.Errorf("the script: %s", script.Status)
	}
	for _, want := range []string{"created", "replayed"} {
		res := c.post("https://"+shop+"/checkout", url.Values{"item": {"tea"}, "idempotency_key": {key[1]}})
		if got := res.Header.Get("Idempotency-Status"); got != want || res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/orders" {
			t.Errorf("%s, %s, to %s; want %s", res.Status, got, res.Header.Get("Location"), want)
		}
	}
	if _, orders := c.get("https://" + shop + "/orders"); orders != "tea\n" {
		t.Errorf("ordered: %q", orders)
	}
	c.leads("https://"+shop+"/admin", "/admin/")
	c.leads("http://"+shop+"/x?y=1", "/x?y=1")
}

// leads fails the test unless an address leads to a path of the shop with https, as the
// visitor knows it.
func (c *chain) leads(from, path string) {
	c.visitor.Helper()
	res, _ := c.get(from)
	to, err := res.Location()
	if err != nil || to.String() != "https://"+shop+path {
		c.visitor.Errorf("%s leads to %v, %v", from, to, err)
	}
}

func TestNginx(t *testing.T) {
	t.Parallel()
	program, fpm := need(t, "nginx"), need(t, "php-fpm*")
	c := newChain(t)
	c.overNginx(program, fpm)
	c.works()
}

func (c *chain) overNginx(program, fpm string) {
	c.ground.Helper()
	params, err := os.ReadFile("/etc/nginx/fastcgi_params")
	if err != nil {
		c.ground.Skip("skipped: ", err)
	}
	c.write("fastcgi_params", string(params))
	c.nginx(program, c.secure, c.recipe("nginx/outer.conf", c.outer("listen 443", "listen "+c.secure, "listen 80", "listen "+c.plain)...)+
		c.recipe("nginx/inner.conf", c.inner(phpSocket, c.fpm(fpm))...))
}

const phpSocket = "/run/php/php8.2-fpm.sock" // in the recipes

// The site behind a proxy that the gateway was not told of: PHP believes that a
// visitor is the proxy, and came without https.
func TestAProxyThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	program, fpm := need(t, "nginx"), need(t, "php-fpm*")
	c := newChain(t, "127.0.0.1/32", "192.0.2.1/32")
	c.overNginx(program, fpm)
	c.sees("HTTPS=\nREQUEST_SCHEME=http\nHTTP_HOST=" + shop + "\nSERVER_PORT=80\nREMOTE_ADDR=127.0.0.1\n")
	if page, _ := c.get("https://" + shop + "/checkout"); len(page.Cookies()) != 1 || page.Cookies()[0].Secure {
		t.Errorf("the page sets %v", page.Cookies())
	}
}

func TestApache(t *testing.T) {
	t.Parallel()
	program, php := need(t, "apache2"), modPHP(t)
	c := newChain(t)
	c.write("site/.htaccess", "FallbackResource /index.php\n")
	c.apache(program, c.secure, modules("remoteip")+php+"Listen "+c.secure+"\nListen "+c.plain+"\n"+
		c.recipe("apache/shop.conf", c.outer(c.inner("*:443", c.secure, "*:80", c.plain)...)...))
	c.works()
}

func TestCaddy(t *testing.T) {
	t.Parallel()
	program, fpm := need(t, "caddy"), need(t, "php-fpm*")
	c := newChain(t)
	c.caddy(program, c.secure, c.caddyOptions()+c.recipe("caddy/Caddyfile",
		"shop.example {", c.site(), "127.0.0.1:8080", c.gate, "http://:8081", "http://:"+c.inside[len("127.0.0.1:"):],
		"/var/www/shop", c.path("site"), phpSocket, c.fpm(fpm)))
	c.works()
}

func (c *chain) caddyOptions() string {
	return "{\nadmin off\nhttp_port " + c.plain[len("127.0.0.1:"):] + "\nhttps_port " + c.secure[len("127.0.0.1:"):] + "\n}\n"
}

func (c *chain) site() string {
	return shop + " {\ntls " + c.path("shop.pem") + " " + c.path("shop.key")
}

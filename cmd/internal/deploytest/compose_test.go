//go:build linux

package deploytest

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/nebis-dev/nebis/cmd/internal/gateway"
)

// compose is what of compose.yaml goes together with other files.
type compose struct {
	Services map[string]struct {
		Environment map[string]string
		Networks    []string
	}
	Networks map[string]struct {
		IPAM struct {
			Config []struct{ Subnet netip.Prefix }
		}
	}
}

func (c *compose) subnet(network string) netip.Prefix {
	return c.Networks[network].IPAM.Config[0].Subnet
}

func readCompose(t *testing.T) *compose {
	t.Helper()
	c := &compose{}
	if err := yaml.Unmarshal([]byte((&ground{t, ""}).recipe("compose/compose.yaml")), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheGatewayOfComposeTrustsTheProxy(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	file, err := os.Open("../../../deploy/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	conf, err := gateway.ReadFile(file, "gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := c.Services["gateway"].Environment
	if err := conf.Apply(gateway.FromEnvironment(func(name string) string { return env[name] })); err != nil {
		t.Fatal(err)
	}
	if got := conf.TrustedProxies; len(got) != 1 || got[0] != c.subnet("front") || conf.Addr != ":8080" || conf.Upstream != "http://site:80" {
		t.Errorf("the gateway trusts %v, is at %s and asks %s", got, conf.Addr, conf.Upstream)
	}
	if web, site := c.Services["web"].Networks, c.Services["site"].Networks; strings.Join(web, "") != "front" || strings.Join(site, "") != "back" {
		t.Errorf("web is in %v, the site in %v", web, site)
	}
}

// The containers' files, with programs in place of containers.
func TestCompose(t *testing.T) {
	t.Parallel()
	program, apache, php := need(t, "caddy"), need(t, "apache2"), modPHP(t)
	nets := readCompose(t)
	c := newChain(t)
	c.write("site/.htaccess", "FallbackResource /index.php\n")
	c.apache(apache, c.inside, php+"Listen "+c.inside+"\n<Directory "+c.path("site")+">\nAllowOverride All\n</Directory>\n"+c.recipe("compose/site.conf",
		nets.subnet("front").String()+" "+nets.subnet("back").String(), "127.0.0.1/32", "*:80", c.inside, "/var/www/html", c.path("site")))
	c.caddy(program, c.secure, c.caddyOptions()+c.recipe("compose/Caddyfile", "shop.example {", c.site(), "gateway:8080", c.gate))
	c.works()
}

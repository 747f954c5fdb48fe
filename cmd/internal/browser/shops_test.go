package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

// door is a form of a shop that knows nothing of Nebis, and how it is reached.
type door struct {
	kind      gatewaytest.Kind
	path      string // of the page with the form
	noScripts bool
	open      bool // no gateway is in front
	line      bool // the connections of the browser can be cut
}

// The forms. One in PHP is a step of many that share a page.
var (
	php    = door{kind: gatewaytest.PHP, path: "/checkout"}
	flow   = door{kind: gatewaytest.PHP, path: "/flow.php"}
	python = door{kind: gatewaytest.Python, path: "/checkout"}
	node   = door{kind: gatewaytest.Node, path: "/checkout"}
)

func (d door) scriptsOff() door { d.noScripts = true; return d }

func (d door) withoutGateway() door { d.open = true; return d }

func (d door) onALine() door { d.line = true; return d }

func (d door) String() string {
	how := map[bool]string{true: "scripts off", false: "with the client"}[d.noScripts]
	if d.open {
		how = "without the gateway"
	}
	return d.kind.Name + d.path + " " + how
}

// orders is what comes of one intent that is sent twice.
func (d door) orders() int {
	if d.open {
		return 2
	}
	return 1
}

// shopper is a person in a shop.
type shopper struct {
	tab
	door
	shop *gatewaytest.Shop
	url  string // the gateway's, or the shop's where there is none
	cut  *dbtest.Proxy
}

// behind runs a test at each door, in a shop of its own.
func behind(t *testing.T, doors []door, test func(t *testing.T, s *shopper)) {
	t.Helper()
	for _, d := range doors {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			s := enterShop(t, d)
			s.do(visit(s.url + d.path))
			test(t, s)
		})
	}
}

func enterShop(t *testing.T, d door) *shopper {
	t.Helper()
	b := browser(t)
	shop := gatewaytest.Open(t, d.kind)
	s := &shopper{shop: shop, door: d, url: shop.URL}
	if !d.open {
		s.url = gatewaytest.Front(t, shop.URL, gatewaytest.Flags...).URL
	}
	if d.line {
		s.cut = dbtest.NewProxy(t, strings.TrimPrefix(s.url, "http://"))
		s.url = "http://" + s.cut.Addr
	}
	// Cookies do not know of ports: each person has a jar of their own.
	s.tab = newTab(t, b, chromedp.WithNewBrowserContext())
	if d.noScripts {
		s.do(noScripts)
	}
	return s
}

// paying waits until the shop has asked for n payments in all.
func (s *shopper) paying(n int) step {
	return poll(fmt.Sprintf("%d payments", n), func(context.Context, *chromedp.Target) bool {
		return s.shop.Payment.Calls() >= n
	})
}

// pay lets the payments go on.
func (s *shopper) pay() step { return then(s.shop.Payment.Release) }

// bought waits for the page that says so.
var bought = says("Order ")

// title is the heading of the page.
func (s *shopper) title() string {
	s.t.Helper()
	return s.eval(`document.querySelector("h1").textContent`)
}

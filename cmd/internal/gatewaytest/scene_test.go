package gatewaytest

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// scene is a shop behind a gateway whose connections can be held. It sees one order
// after another, each with a key of its own.
type scene struct {
	t     *testing.T // of the stage
	whole *testing.T // of all stages
	shop  *Shop
	db    *sql.DB // the gateway's
	store *dbtest.Proxy
	up    string // where the gateway finds the shop
	flags []string
	gate  *Gateway

	path, key     string      // of the order
	sent          chan answer // what the order under way was answered with
	calls, orders int         // before the order
}

const routes = `owner: none
routes:
- match: POST /checkout
  wait: 0s
- match: POST /free
  wait: 0s
  on_upstream_error: free
`

func newScene(t *testing.T, c dbtest.Config) *scene {
	t.Helper()
	dsn := c.Fresh(t)
	x := &scene{t: t, whole: t, db: c.Pool(t, dsn), store: dbtest.NewProxy(t, c.Addr(t))}
	x.shop = Open(t, Node) // which starts the fastest
	x.up = x.shop.URL
	file := filepath.Join(t.TempDir(), "nebis.yaml")
	if err := os.WriteFile(file, []byte(routes), 0o600); err != nil {
		t.Fatal(err)
	}
	x.flags = []string{"--config", file, "--db", dburltest.URL(t, c, c.Through(dsn, x.store.Addr))}
	x.restart()
	return x
}

// each sends an order for each stage, up to it.
func (x *scene) each(stages []stage, test func(x *scene, s stage, release func())) {
	for _, s := range stages {
		x.whole.Run(s.name, func(t *testing.T) {
			x.t = t
			x.path, x.key = s.path, strings.NewReplacer(" ", "-", ",", "").Replace(s.name)
			x.calls, x.orders = x.shop.Payment.Calls(), x.shop.Orders()
			test(x, s, s.reach(x))
		})
	}
}

// restart starts the next gateway.
func (x *scene) restart() {
	x.t.Helper()
	x.gate = Front(x.whole, x.up, x.flags...)
}

// send sends the order.
func (x *scene) send() {
	t, url, key, sent := x.t, x.gate.URL+x.path, x.key, make(chan answer, 1)
	x.sent = sent
	go func() { sent <- order(t, url, key) }()
}

// await waits until the order has come so far.
func (x *scene) await(step <-chan struct{}) {
	x.t.Helper()
	select {
	case <-step:
	case got := <-x.sent:
		x.t.Fatalf("the first: %v, before it had come so far", got)
	}
}

// want fails the test unless the order, sent again, is answered so.
func (x *scene) want(want answer) {
	x.t.Helper()
	x.compare("sent again", order(x.t, x.gate.URL+x.path, x.key), want)
}

func (x *scene) wantFirst(want answer) {
	x.t.Helper()
	x.compare("the first", <-x.sent, want)
}

func (x *scene) compare(which string, got, want answer) {
	x.t.Helper()
	if want.location != "" {
		want.location = fmt.Sprint("/orders/", x.shop.Orders()) // the newest
	}
	if got != want {
		x.t.Errorf("%s: %v, want %v", which, got, want)
	}
}

// wantRuns fails the test unless the shop was at work n times for the order.
func (x *scene) wantRuns(n int) {
	x.t.Helper()
	if got := x.shop.Payment.Calls() - x.calls; got != n {
		x.t.Errorf("the shop was at work %d times, want %d", got, n)
	}
	if got := x.shop.Orders() - x.orders; got != n {
		x.t.Errorf("%d orders, want %d", got, n)
	}
}

// lapse lets all leases end, as time does.
func (x *scene) lapse() {
	x.t.Helper()
	if _, err := x.db.ExecContext(x.t.Context(), `UPDATE idempotency SET lease_until = '2001-01-01 00:00:00'`); err != nil {
		x.t.Fatal(err)
	}
}

// stage is how far an order has come when somebody is killed.
type stage struct {
	name, path string
	reach      func(*scene) (release func())
}

func nothing() {}

func anything([]byte) bool { return true }

func isPost(packet []byte) bool { return bytes.HasPrefix(packet, []byte("POST ")) }

// held holds the next packet that goes to the database.
func (x *scene) held(match func([]byte) bool) *dbtest.Trap { return x.store.Set(dbtest.Hold, match) }

// deaf has the database obey the next commit. The gateway hears nothing of that,
// nor when it asks on another connection; it is asking when all is over.
func (x *scene) deaf() (await func()) {
	t := x.store.Set(dbtest.CutAfter, dbtest.Commit)
	asks := x.store.Set(dbtest.Swallow, func([]byte) bool {
		select {
		case <-t.Sprung():
			return true
		default:
			return false // what comes before the commit
		}
	})
	return func() {
		x.await(t.Answered())
		x.await(asks.Sprung())
	}
}

// between starts a gateway with a connection to the shop that can be held. From then
// on the shop seems to be there when it is not.
func (x *scene) between() *dbtest.Proxy {
	p := dbtest.NewProxy(x.whole, strings.TrimPrefix(x.shop.URL, "http://"))
	x.up = "http://" + p.Addr
	x.gate.Kill()
	x.restart()
	return p
}

func atWork(x *scene) (release func()) {
	x.shop.Payment.Hold()
	x.send()
	n, paying := x.calls+1, make(chan struct{})
	go func() {
		x.shop.Payment.Await(n)
		close(paying)
	}()
	x.await(paying)
	return x.shop.Payment.Release
}

var (
	beforeClaim = stage{"before the claim", "/checkout", func(x *scene) func() {
		t := x.held(anything)
		x.send()
		x.await(t.Sprung())
		return t.Release
	}}
	claiming = stage{"before the claim is committed", "/checkout", func(x *scene) func() {
		t := x.held(dbtest.Commit)
		x.send()
		x.await(t.Sprung())
		return t.Release
	}}
	claimed = stage{"after the claim", "/checkout", func(x *scene) func() {
		await := x.deaf()
		x.send()
		await()
		return nothing
	}}
	onItsWay = stage{"with the request on its way", "/checkout", func(x *scene) func() {
		t := x.between().Set(dbtest.Hold, isPost)
		x.send()
		x.await(t.Sprung())
		return nothing
	}}
	working    = stage{"while the shop works", "/checkout", atWork}
	free       = stage{"while the shop works, where the route says free", "/free", atWork}
	beforeSave = stage{"before the save", "/checkout", func(x *scene) func() {
		release := atWork(x)
		t := x.held(anything)
		release()
		x.await(t.Sprung())
		return t.Release
	}}
	saved = stage{"after the save", "/checkout", func(x *scene) func() {
		release := atWork(x)
		await := x.deaf()
		release()
		await()
		return nothing
	}}
)

package gatewaytest

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// scene is a shop behind a gateway whose connections, to the database and to the
// shop, can be held.
type scene struct {
	t     *testing.T
	shop  *Shop
	db    *sql.DB // the gateway's
	store *dbtest.Proxy
	site  *dbtest.Proxy
	up    string // where the gateway finds the shop
	flags []string
	gate  *Gateway
	sent  chan answer // what the order under way was answered with
}

// newScene opens the scene. route is added to the route's configuration.
func newScene(t *testing.T, c dbtest.Config, s stage, route string) *scene {
	t.Helper()
	dsn := c.Fresh(t)
	x := &scene{t: t, db: c.Pool(t, dsn), store: dbtest.NewProxy(t, c.Addr(t)), sent: make(chan answer, 1)}
	x.shop = Open(t, Python)
	x.up = x.shop.URL
	if s.proxied {
		x.site = dbtest.NewProxy(t, strings.TrimPrefix(x.up, "http://"))
		x.up = "http://" + x.site.Addr
	}
	file := filepath.Join(t.TempDir(), "nebis.yaml")
	conf := "owner: none\nroutes:\n- match: POST /checkout\n  wait: 0s\n" + route
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	x.flags = []string{"--config", file, "--db", dburltest.URL(t, c, c.Through(dsn, x.store.Addr))}
	x.restart()
	return x
}

// restart starts the next gateway.
func (x *scene) restart() {
	x.t.Helper()
	x.gate = Front(x.t, x.up, x.flags...)
}

// send sends the order.
func (x *scene) send() {
	site := x.gate.URL
	go func() { x.sent <- order(x.t, site, "k") }()
}

// want fails the test unless the order, sent again, is answered so.
func (x *scene) want(want answer) {
	x.t.Helper()
	if got := order(x.t, x.gate.URL, "k"); got != want {
		x.t.Errorf("sent again: %v, want %v", got, want)
	}
}

func (x *scene) wantFirst(want answer) {
	x.t.Helper()
	if got := <-x.sent; got != want {
		x.t.Errorf("the first: %v, want %v", got, want)
	}
}

// wantRuns fails the test unless the shop was at work n times.
func (x *scene) wantRuns(n int) {
	x.t.Helper()
	if got := x.shop.Payment.Calls(); got != n {
		x.t.Errorf("the shop was at work %d times, want %d", got, n)
	}
	x.shop.Want(n)
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
	name    string
	proxied bool
	reach   func(*scene) (release func())
}

func nothing() {}

func anything([]byte) bool { return true }

func isPost(packet []byte) bool { return bytes.HasPrefix(packet, []byte("POST ")) }

// held holds the next packet that goes to the database.
func (x *scene) held(match func([]byte) bool) *dbtest.Trap { return x.store.Set(dbtest.Hold, match) }

// deaf has the database obey the next commit. The gateway hears nothing of that,
// nor when it asks on another connection; it is asking when all is over.
func (x *scene) deaf() (over func()) {
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
		<-t.Answered()
		<-asks.Sprung()
	}
}

func (x *scene) atWork() {
	x.shop.Payment.Hold()
	x.send()
	x.shop.Payment.Await(1)
}

var (
	beforeClaim = stage{"before the claim", false, func(x *scene) func() {
		t := x.held(anything)
		x.send()
		<-t.Sprung()
		return t.Release
	}}
	claiming = stage{"before the claim is committed", false, func(x *scene) func() {
		t := x.held(dbtest.Commit)
		x.send()
		<-t.Sprung()
		return t.Release
	}}
	claimed = stage{"after the claim", false, func(x *scene) func() {
		over := x.deaf()
		x.send()
		over()
		return nothing
	}}
	onItsWay = stage{"with the request on its way", true, func(x *scene) func() {
		t := x.site.Set(dbtest.Hold, isPost)
		x.send()
		<-t.Sprung()
		return nothing
	}}
	working = stage{"while the shop works", false, func(x *scene) func() {
		x.atWork()
		return x.shop.Payment.Release
	}}
	beforeSave = stage{"before the save", false, func(x *scene) func() {
		x.atWork()
		t := x.held(anything)
		x.shop.Payment.Release()
		<-t.Sprung()
		return t.Release
	}}
	saved = stage{"after the save", false, func(x *scene) func() {
		x.atWork()
		over := x.deaf()
		x.shop.Payment.Release()
		over()
		return nothing
	}}
)

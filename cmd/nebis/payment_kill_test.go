package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/shop"
)

// doorsOnly is the demo without its worker: what it writes down for the outside is
// committed, and nobody makes the call.
func doorsOnly() error {
	target, err := dburl.Parse(os.Getenv("NEBIS_DB"))
	if err != nil {
		return err
	}
	db, err := target.Open()
	if err != nil {
		return err
	}
	s, err := shop.New(db, target.Dialect, slog.Default(), nil)
	if err != nil {
		return err
	}
	if err := s.Migrate(context.Background()); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", ln.Addr())
	return shop.Serve(context.Background(), ln, s.Handler(), slog.Default())
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // it says that it was killed
}

// The demo is killed between the commit of a payment and its call to the outside, in
// the midst of the call, and when the other side has done it and has not answered yet.
// After the next start there is one coupon, and the points were given once.
func TestADemoThatIsKilledAfterAPaymentGetsItsCouponOnce(t *testing.T) {
	for _, c := range []struct {
		name, program, mood string
		requests            int // that the service has got in the end
		reached             func(coupon) bool
	}{
		{"before the call", "doors", "works", 1, func(c coupon) bool { return c.calls == 1 }},
		{"during the call", "1", "slow", 2, func(c coupon) bool { return c.requests == 1 && c.done == 0 }},
		{"before the answer", "1", "slow", 2, func(c coupon) bool { return c.done == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
				t.Parallel()
				p := startWith(t, []string{"NEBIS_DB=" + dbURL, "NEBIS_TEST_BE_NEBIS=" + c.program}, "demo", "--addr", "127.0.0.1:0")
				p.listening()
				p.order("k", `{"item":"tea","qty":1}`)
				p.post("/provider/1", "times=3&gap=0&drop=0&coupon="+c.mood, "<b>3</b> acknowledged")
				db, _ := dburltest.Open(t, dbURL)
				until(t, db, c.name, c.reached)
				p.kill()
				if got := couponIn(t, db); !c.reached(got) || got.given != 0 {
					t.Fatalf("killed too late: %+v", got)
				}
				again := start(t, dbURL)
				again.listening()
				until(t, db, "the coupon", func(c coupon) bool { return c.given == 1 })
				again.stop()
				if got, want := couponIn(t, db), (coupon{1, c.requests, 1, 1, 10 + 12}); got != want {
					t.Errorf("in the end %+v, want %+v", got, want)
				}
			})
		})
	}
}

package gatewaytest

import (
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// remote are the databases that a connection leads to, which can be held. On MariaDB
// the claim commits in one packet with a statement, which is not looked for here.
func remote(stages []stage) map[string][]stage {
	both := map[string][]stage{"postgres-pgx": stages}
	for _, s := range stages {
		if s.name != claimed.name && s.name != claiming.name {
			both["mariadb"] = append(both["mariadb"], s)
		}
	}
	return both
}

// each opens a scene for each stage on each database, and goes up to it.
func each(t *testing.T, stages []stage, test func(x *scene, s stage, release func())) {
	for name, stages := range remote(stages) {
		for _, s := range stages {
			t.Run(name+" "+s.name, func(t *testing.T) {
				t.Parallel()
				x := newScene(t, dbtest.Lookup(name), s, "")
				test(x, s, s.reach(x))
			})
		}
	}
}

// What was not claimed is done by the next gateway, and what was saved is told by it.
// In between nobody knows: the next is told so, once the lease is over, and the shop
// sees nothing of it.
func TestAGatewayThatIsKilledAtAStep(t *testing.T) {
	runs := map[string]int{beforeClaim.name: 1, working.name: 1, beforeSave.name: 1, saved.name: 1}
	each(t, []stage{beforeClaim, claimed, onItsWay, working, beforeSave, saved}, func(x *scene, s stage, _ func()) {
		x.gate.Kill()
		x.wantFirst(none)
		x.shop.Payment.Release()
		x.restart()
		switch s.name {
		case beforeClaim.name:
			x.want(created)
			x.want(replayed)
		case saved.name:
			x.want(replayed)
		default:
			x.want(inProgress)
			x.lapse()
			x.want(unknown)
			x.want(unknown)
		}
		x.wantRuns(runs[s.name])
	})
}

// A shop that cannot have got the order leaves the key free.
func TestAShopThatIsKilledAtAStep(t *testing.T) {
	wants := map[string]struct {
		first, next answer
		runs        int
	}{
		beforeClaim.name: {released, created, 1},
		claiming.name:    {released, created, 1},
		onItsWay.name:    {unknown, unknown, 0},
		working.name:     {unknown, unknown, 1},
		beforeSave.name:  {created, replayed, 1},
	}
	each(t, []stage{beforeClaim, claiming, onItsWay, working, beforeSave}, func(x *scene, s stage, release func()) {
		want := wants[s.name]
		x.shop.Kill()
		release()
		x.wantFirst(want.first)
		x.shop.Restart()
		x.want(want.next)
		x.wantRuns(want.runs)
	})
}

// A route that says so has it done again, with an order written each time.
func TestAShopThatIsKilledAtWorkWhereTheRouteSaysFree(t *testing.T) {
	t.Parallel()
	x := newScene(t, dbtest.Lookup("postgres-pgx"), working, "  on_upstream_error: free\n")
	release := working.reach(x)
	x.shop.Kill()
	release()
	x.wantFirst(released)
	x.shop.Restart()
	x.want(answer{303, "created", "/orders/2"})
	x.wantRuns(2)
}

// Case 34.
func TestTwoGatewaysLetOneOfFiftyEachThrough(t *testing.T) {
	t.Parallel()
	c := dbtest.Lookup("postgres-pgx")
	db := c.Fresh(t)
	shop := Open(t, Node)
	gates := []*Gateway{
		Front(t, shop.URL, append(Flags, "--db", db)...),
		Front(t, shop.URL, append(Flags, "--db", db)...),
	}
	shop.Payment.Hold()
	answers := make(chan answer, 100)
	for i := range cap(answers) {
		go func() { answers <- order(t, gates[i%2].URL, "k", "Accept", "text/html") }()
	}
	shop.Payment.Await(1)
	shop.Payment.Release()
	counts := map[answer]int{}
	for range cap(answers) {
		counts[<-answers]++
	}
	if counts[created] != 1 || counts[replayed] != 99 {
		t.Errorf("%v", counts)
	}
	if n := shop.Payment.Calls(); n != 1 {
		t.Errorf("the shop was at work %d times", n)
	}
	shop.Want(1)
}

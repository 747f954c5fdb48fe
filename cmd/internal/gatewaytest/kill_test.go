package gatewaytest

import (
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// What was not claimed is done by the next gateway, and what was saved is told by it.
// In between nobody knows: the next is told so, once the lease is over, and the shop
// sees nothing of it.
func TestAGatewayThatIsKilledAtAStep(t *testing.T) {
	runs := map[string]int{beforeClaim.name: 1, working.name: 1, beforeSave.name: 1, saved.name: 1}
	for db, stages := range map[string][]stage{
		"postgres-pgx": {beforeClaim, claimed, working, beforeSave, saved, onItsWay},
		"mariadb":      {working, saved}, // where the lease, and its end, are other SQL
	} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			newScene(t, dbtest.Lookup(db)).each(stages, func(x *scene, s stage, _ func()) {
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
		})
	}
}

// A shop that cannot have got the order leaves the key free, and a route that says
// so does in any case: the order is written each time.
func TestAShopThatIsKilledAtAStep(t *testing.T) {
	t.Parallel()
	wants := map[string]struct {
		first, next answer
		runs        int
	}{
		beforeClaim.name: {released, created, 1},
		claiming.name:    {released, created, 1},
		onItsWay.name:    {unknown, unknown, 0},
		working.name:     {unknown, unknown, 1},
		free.name:        {released, created, 2},
		beforeSave.name:  {created, replayed, 1},
	}
	stages := []stage{beforeClaim, claiming, working, free, beforeSave, onItsWay}
	newScene(t, dbtest.Lookup("postgres-pgx")).each(stages, func(x *scene, s stage, release func()) {
		want := wants[s.name]
		x.shop.Kill()
		release()
		x.wantFirst(want.first)
		x.shop.Restart()
		x.want(want.next)
		x.wantRuns(want.runs)
	})
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
		go func() { answers <- order(t, gates[i%2].URL+"/checkout", "k", "Accept", "text/html") }()
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

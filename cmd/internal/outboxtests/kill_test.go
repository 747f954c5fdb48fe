package outboxtests

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

// each runs f on every product. MySQL 5.6 differs from MariaDB in how a call is
// claimed.
func each(t *testing.T, f func(t *testing.T, c dbtest.Config)) {
	t.Helper()
	for _, name := range []string{"sqlite-modernc", "mariadb", "postgres-pgx", "mysql56"} {
		c := dbtest.Lookup(name)
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}

// Case 53. A process is killed at a step of a call, again and again. Then a worker
// elsewhere finishes what is left: no call is lost, none is made without its
// commit, and the other side has charged each order once.
func TestAProcessKilledAtAStep(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		for _, s := range steps {
			t.Run(string(s), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, c)
				for i := range *times {
					w.killAt(t, fmt.Sprint("order-", i), s)
				}
				w.finish(t)
				w.audit(t, s)
			})
		}
	})
}

func (w *world) killAt(t *testing.T, name string, s step) {
	t.Helper()
	runs := 2
	if s == beforeCommit || s == afterCommit {
		runs = 0 // or the call would be made before the process is killed
	}
	p := w.start(t, runs, lease)
	p.place(order{Name: name, Stop: s, Refuse: s == inCompensate})
	if s == duringCall {
		<-w.p.reached
	} else {
		p.reaches(s)
	}
	p.kill()
}

// finish runs a worker until nothing is left to do.
func (w *world) finish(t *testing.T) {
	t.Helper()
	box := w.outbox(&outbox.Options{Poll: 200 * time.Millisecond})
	box.Handle("charge", charging(w.p.URL, w.c.Dialect, func(order, step) {}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- box.Run(ctx) }()
	for w.left(t, box) > 0 && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	must(t, <-ended)
}

// left counts the calls that are not at an end.
func (w *world) left(t *testing.T, box *outbox.Outbox) (n int) {
	t.Helper()
	// In one look: between two, a call may go from one state to another.
	var jobs []*outbox.Job
	must(t, insist(t, func() (err error) { // at SERIALIZABLE a read can lose, too
		jobs, err = box.List(t.Context(), outbox.Filter{Limit: 100000})
		return err
	}))
	for _, j := range jobs {
		switch j.State {
		case outbox.Pending, outbox.Running, outbox.Failed, outbox.Compensating:
			n++
		}
	}
	return n
}

func (w *world) audit(t *testing.T, s step) {
	t.Helper()
	want := outbox.Done
	if s == inCompensate {
		want = outbox.Compensated
	}
	jobs, err := w.outbox(nil).List(t.Context(), outbox.Filter{Limit: 100000})
	must(t, err)
	for _, j := range jobs {
		if j.State != want {
			t.Errorf("call %d is %s after %d tries: %s", j.ID, j.State, j.Attempts, j.Error)
		}
	}
	committed := w.count(t, "orders", "")
	if len(jobs) != committed {
		t.Errorf("%d orders, %d calls", committed, len(jobs))
	}
	if n := map[bool]int{true: 0, false: *times}[s == beforeCommit]; committed != n {
		t.Errorf("%d orders have committed, want %d", committed, n)
	}
	var requests, charges int
	for i := range *times {
		c, r := w.auditOrder(t, fmt.Sprint("order-", i))
		charges, requests = charges+c, requests+r
	}
	results.add(w.c.Name, string(s), *times, requests, charges)
}

// auditOrder compares what the other side has seen of an order with the table.
func (w *world) auditOrder(t *testing.T, name string) (charges, requests int) {
	t.Helper()
	committed := w.count(t, "orders", name) > 0
	cancelled := w.count(t, "cancelled", name)
	charges, requests = w.p.seen(name)
	switch {
	case !committed && requests > 0:
		t.Errorf("%s: %d requests without a commit", name, requests)
	case committed && requests == 0:
		t.Errorf("%s: the call is lost", name)
	case committed && charges+cancelled != 1:
		t.Errorf("%s: charged %d times, cancelled %d times", name, charges, cancelled)
	}
	return charges, requests
}

// The other side answers, and the answer is cut.
func TestAnAnswerThatIsCut(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		w := newWorld(t, c)
		w.p.cut["order-0"] = true
		box := w.outbox(&outbox.Options{Poll: 50 * time.Millisecond})
		box.Handle("charge", charging(w.p.URL, c.Dialect, func(order, step) {}))
		must(t, place(t.Context(), w.db, c.Dialect, box, order{Name: "order-0"}, func(order, step) {}))
		w.finish(t)
		if charges, requests := w.p.seen("order-0"); charges != 1 || requests != 2 {
			t.Errorf("%d charges, %d requests", charges, requests)
		}
	})
}

// Ten workers in three processes share a table, and no call is under way twice.
// Their leases are so long that a busy machine does not let one run out.
func TestTenWorkersInThreeProcesses(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) { tenWorkers(t, c, 100) })
}

func tenWorkers(t *testing.T, c dbtest.Config, orders int) {
	w := newWorld(t, c)
	for _, runs := range []int{4, 3, 3} {
		w.start(t, runs, time.Minute)
	}
	box := w.outbox(nil)
	box.Handle("charge", outbox.Call{})
	for i := range orders {
		o := order{Name: fmt.Sprint("order-", i), Takes: time.Duration(i%20) * 10 * time.Millisecond}
		must(t, insist(t, func() error {
			return place(t.Context(), w.db, c.Dialect, box, o, func(order, step) {})
		}))
	}
	for end := time.Now().Add(patience); w.left(t, box) > 0 && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
	if w.p.overlaps > 0 {
		t.Errorf("%d calls were under way twice", w.p.overlaps)
	}
	for i := range orders {
		w.auditOrder(t, fmt.Sprint("order-", i))
	}
}

// insist tries again what met a deadlock or a busy database: nothing of it has
// happened.
func insist(t *testing.T, f func() error) error {
	t.Helper()
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == 20 {
			return err
		}
		t.Log(err)
		time.Sleep(10 * time.Millisecond)
	}
}

package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

func TestACall(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			for i, test := range callTests {
				t.Run(test.name, func(t *testing.T) { test.f(w.desk(t, fmt.Sprint("outbox_", i), test.o)) })
			}
		})
	}
}

var callTests = []struct {
	name string
	o    outbox.Options
	f    func(*desk)
}{
	{"committed: made at once, and once", outbox.Options{}, testCommitted},
	{"rolled back: never made", outbox.Options{}, testRolledBack},
	{"committed long after it was added", outbox.Options{}, testLongTransaction},
	{"an error is tried again with the same key", outbox.Options{}, testAgain},
	{"a panic and an exit are tried again", outbox.Options{}, testPanic},
	{"a permanent error ends it", outbox.Options{}, testPermanent},
	{"the other side says when", outbox.Options{}, testRetryAfter},
	{"a try that takes too long", outbox.Options{}, testTimeout},
	{"the end of its tries: compensated once", outbox.Options{}, testCompensated},
	{"the end of its tries, without a compensation: dead", outbox.Options{}, testDead},
	{"a compensation that never succeeds: dead", outbox.Options{}, testCompensationFails},
	{"a compensation that ends its transaction by hand", outbox.Options{}, testCompensationCommits},
	{"a lease that went to somebody else", outbox.Options{Lease: time.Second}, testLost},
	{"a call that outlives its first lease", outbox.Options{Lease: time.Second}, testLong},
	{"a worker that ends lets its calls finish", outbox.Options{}, testEnds},
	{"what cannot be kept", outbox.Options{MaxPayload: 100}, testNotKept},
	{"keys of every length", outbox.Options{}, testKeys},
	{"old calls are purged", outbox.Options{Keep: time.Millisecond}, testPurge},
}

// A strange payload must come back as it was.
type parcel struct{ Text string }

var strange = parcel{"购物车 👜 \x00 'quoted' \"twice\" \\ ?, $1 "}

func testCommitted(d *desk) {
	calls := make(chan outbox.Job, 10)
	d.o.Handle("call", outbox.Call{Do: func(_ context.Context, j *outbox.Job) (any, error) {
		calls <- *j
		return strange, nil
	}})
	d.run()
	id := d.add(strange)
	d.becomes(outbox.Done)
	var got parcel
	j := <-calls
	must(d.t, j.Decode(&got))
	if got != strange || j.ID != id || j.Attempts != 1 || j.State != outbox.Running || len(j.Key) != 36 {
		d.t.Errorf("called with %+v, payload %q", j, got)
	}
	now := d.show(id)
	if now.State != outbox.Done || now.Key != j.Key || now.Attempts != 1 || now.Held || !now.Due.IsZero() || now.Error != "" {
		d.t.Errorf("became %+v", now)
	}
	if !strings.Contains(string(now.Result), "购物车 👜") {
		d.t.Errorf("result %s", now.Result)
	}
	if age := now.UpdatedAt.Sub(now.CreatedAt); age < 0 || time.Since(now.CreatedAt).Abs() > time.Hour {
		d.t.Errorf("created %v, updated %v", now.CreatedAt, now.UpdatedAt)
	}
	d.add(strange)
	d.becomes(outbox.Done)
	if len(calls) != 1 {
		d.t.Errorf("%d calls for the second", len(calls))
	}
}

func testRolledBack(d *desk) {
	d.o.Handle("call", outbox.Call{Do: func(_ context.Context, j *outbox.Job) (any, error) {
		if string(j.Payload) != `"good"` {
			d.t.Errorf("a call was made for %s", j.Payload)
		}
		return nil, nil
	}})
	d.run()
	tx, err := d.db.BeginTx(d.t.Context(), nil)
	must(d.t, err)
	_, err = d.o.Add(d.t.Context(), tx, "call", "bad")
	must(d.t, err)
	must(d.t, tx.Rollback())
	d.add("good")
	d.becomes(outbox.Done)
	if n := d.count(d.t, d.table, ""); n != 1 {
		d.t.Errorf("%d rows", n)
	}
}

func testLongTransaction(d *desk) {
	d.o.Handle("call", outbox.Call{Do: func(context.Context, *outbox.Job) (any, error) { return nil, nil }})
	d.run()
	d.within(func(tx *sql.Tx) error {
		_, err := d.o.Add(d.t.Context(), tx, "call", 1)
		time.Sleep(200 * time.Millisecond)
		return err
	})
	d.becomes(outbox.Done)
}

// quick is a call whose tries follow each other.
func quick(do func(context.Context, *outbox.Job) (any, error)) outbox.Call {
	return outbox.Call{Do: do, Attempts: 3, Backoff: time.Millisecond}
}

func testAgain(d *desk) {
	var keys []string
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		keys = append(keys, j.Key)
		if j.Attempts < 3 {
			return nil, fmt.Errorf("try %d: %s\x00\xff", j.Attempts, strings.Repeat("坏👜", 1000))
		}
		if !strings.HasPrefix(j.Error, "try 2: 坏") {
			d.t.Errorf("the error of the try before is %.20q", j.Error)
		}
		return nil, nil
	}))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed, outbox.Failed, outbox.Done)
	if len(keys) != 3 || keys[0] != keys[1] || keys[1] != keys[2] {
		d.t.Errorf("keys %v", keys)
	}
	if j := d.show(id); j.Attempts != 3 || j.Error != "" {
		d.t.Errorf("became %+v", j)
	}
}

func testPanic(d *desk) {
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		switch j.Attempts {
		case 1:
			panic("it breaks")
		case 2:
			runtime.Goexit()
		}
		return nil, nil
	}))
	d.run()
	d.add(1)
	if e := d.becomes(outbox.Failed); !strings.Contains(e.Err.Error(), "it breaks") {
		d.t.Errorf("error %v", e.Err)
	}
	d.becomes(outbox.Failed, outbox.Done)
}

var errGone = errors.New("no such account")

func testPermanent(d *desk) {
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) {
		return nil, fmt.Errorf("pay: %w", outbox.Permanent(errGone))
	}))
	d.run()
	id := d.add(1)
	if e := d.becomes(outbox.Dead); !errors.Is(e.Err, errGone) {
		d.t.Errorf("error %v", e.Err)
	}
	if j := d.show(id); j.Attempts != 1 || j.Error != "pay: no such account" || !j.Due.IsZero() {
		d.t.Errorf("became %+v", j)
	}
}

// The pause of this call would be an hour.
func testRetryAfter(d *desk) {
	const after = 50 * time.Millisecond
	d.o.Handle("call", outbox.Call{Backoff: time.Hour, Do: func(_ context.Context, j *outbox.Job) (any, error) {
		if j.Attempts == 1 {
			return nil, outbox.RetryAfter(after, errGone)
		}
		return nil, nil
	}})
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed)
	if j := d.show(id); j.State == outbox.Failed && j.Due.Sub(j.UpdatedAt).Round(time.Millisecond) != after {
		d.t.Errorf("due %v after it failed", j.Due.Sub(j.UpdatedAt))
	}
	d.becomes(outbox.Done)
}

func testTimeout(d *desk) {
	call := quick(func(ctx context.Context, j *outbox.Job) (any, error) {
		if j.Attempts == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, nil
	})
	call.Timeout = 20 * time.Millisecond
	d.o.Handle("call", call)
	d.run()
	d.add(1)
	if e := d.becomes(outbox.Failed); !strings.Contains(e.Err.Error(), "longer than its Timeout") {
		d.t.Errorf("error %v", e.Err)
	}
	// On a busy machine the second may need longer as well.
	if e := d.next(); e.State != outbox.Done && e.Err == nil {
		d.t.Errorf("became %s", e.State)
	}
}

func refuse(context.Context, *outbox.Job) (any, error) { return nil, errGone }

// cancel is the database part of a compensation.
func (d *desk) cancel(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, insert(d.c.Dialect, "cancelled"), d.table)
	return err
}

func testCompensated(d *desk) {
	call := quick(refuse)
	call.Compensate = func(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
		if err := d.cancel(ctx, tx); err != nil {
			return err
		}
		switch j.Compensations {
		case 1:
			return errors.New("not yet")
		case 2:
			panic("nor yet")
		}
		if !strings.Contains(j.Error, errGone.Error()) {
			d.t.Errorf("the cause is %q", j.Error)
		}
		return nil
	}
	d.o.Handle("call", call)
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed, outbox.Failed, outbox.Compensating, outbox.Compensating, outbox.Compensating, outbox.Compensated)
	if n := d.count(d.t, "cancelled", d.table); n != 1 {
		d.t.Errorf("cancelled %d times", n)
	}
	if j := d.show(id); j.Attempts != 3 || j.Compensations != 3 || j.Held || !j.Due.IsZero() {
		d.t.Errorf("became %+v", j)
	}
}

func testDead(d *desk) {
	d.o.Handle("call", quick(refuse))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed, outbox.Failed, outbox.Dead)
	list, err := d.o.List(d.t.Context(), outbox.Filter{State: outbox.Dead})
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Error != errGone.Error() || list[0].Payload != nil {
		d.t.Errorf("list %+v, error %v", list, err)
	}
}

func testCompensationFails(d *desk) {
	call := quick(func(context.Context, *outbox.Job) (any, error) { return nil, outbox.Permanent(errGone) })
	call.Attempts = 2
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error {
		return errors.Join(d.cancel(ctx, tx), errors.New("never"))
	}
	d.o.Handle("call", call)
	d.run()
	id := d.add(1)
	d.becomes(outbox.Compensating, outbox.Compensating, outbox.Dead)
	if n := d.count(d.t, "cancelled", d.table); n != 0 {
		d.t.Errorf("cancelled %d times", n)
	}
	if j := d.show(id); j.Error != "compensate: never; the call: no such account" {
		d.t.Errorf("error %q", j.Error)
	}
}

// What it made permanent itself stays, but it is never called a success.
func testCompensationCommits(d *desk) {
	call := quick(func(context.Context, *outbox.Job) (any, error) { return nil, outbox.Permanent(errGone) })
	call.Attempts = 1
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error {
		_, err := tx.ExecContext(ctx, `COMMIT`)
		return errors.Join(err, d.cancel(ctx, tx))
	}
	d.o.Handle("call", call)
	d.run()
	id := d.add(1)
	d.becomes(outbox.Compensating)
	if e := d.becomes(outbox.Dead); !errors.Is(e.Err, nebis.ErrTxGone) {
		d.t.Errorf("error %v", e.Err)
	}
	if j := d.show(id); j.State != outbox.Dead {
		d.t.Errorf("became %+v", j)
	}
	if d.c.Dialect == nebis.MySQL {
		if n := d.count(d.t, "cancelled", d.table); n != 0 {
			d.t.Errorf("what it wrote after its COMMIT is there %d times", n)
		}
	}
}

// Somebody else has claimed the call: the function is told by its context, and
// what it returns is not saved.
func testLost(d *desk) {
	cause := make(chan error, 1)
	d.o.Handle("call", quick(func(ctx context.Context, j *outbox.Job) (any, error) {
		d.within(func(tx *sql.Tx) error {
			_, err := tx.ExecContext(d.t.Context(), fmt.Sprintf(`UPDATE %s SET token = 'another' WHERE id = %d`, d.table, j.ID))
			return err
		})
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return "made all the same", nil
	}))
	d.run()
	id := d.add(1)
	if e := d.next(); !errors.Is(e.Err, nebis.ErrLost) {
		d.t.Errorf("%s, error %v", e.State, e.Err)
	}
	if err := <-cause; !errors.Is(err, nebis.ErrLost) {
		d.t.Errorf("the context ended by %v", err)
	}
	if j := d.show(id); j.State != outbox.Running || !j.Held || j.Result != nil {
		d.t.Errorf("became %+v", j)
	}
}

// It waits for its own lease to be longer than the first was.
func testLong(d *desk) {
	d.o.Handle("call", quick(func(ctx context.Context, j *outbox.Job) (any, error) {
		for {
			now, err := d.o.Show(ctx, j.ID)
			if err != nil || now.Due.Sub(now.CreatedAt) > 2*time.Second {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}))
	d.run()
	d.add(1)
	d.becomes(outbox.Done)
}

func testEnds(d *desk) {
	begun, goOn := make(chan bool), make(chan bool)
	d.o.Handle("call", quick(func(ctx context.Context, _ *outbox.Job) (any, error) {
		begun <- true
		<-goOn
		return nil, ctx.Err()
	}))
	stop := d.run()
	d.add(1)
	<-begun
	go func() { goOn <- true }()
	stop()
	select {
	case e := <-d.events:
		if e.State != outbox.Done {
			d.t.Errorf("became %s, error %v", e.State, e.Err)
		}
	default:
		d.t.Error("Run has returned before the call was saved")
	}
}

func testNotKept(d *desk) {
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) { return strings.Repeat("x", 101), nil }))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Done)
	if j := d.show(id); j.Result != nil || !strings.Contains(j.Error, "not kept") {
		d.t.Errorf("became %+v", j)
	}
	d.within(func(tx *sql.Tx) error {
		for _, payload := range []any{strings.Repeat("x", 101), make(chan int)} {
			if _, err := d.o.Add(d.t.Context(), tx, "call", payload); !errors.Is(err, outbox.ErrCall) {
				d.t.Errorf("payload %T: error %v", payload, err)
			}
		}
		if _, err := d.o.Add(d.t.Context(), tx, "other", 1); !errors.Is(err, outbox.ErrCall) {
			d.t.Errorf("a name that nobody handles: error %v", err)
		}
		return nil
	})
}

func testKeys(d *desk) {
	lengths := map[int64]int{}
	for _, n := range []int{32, 36, 64} {
		name := fmt.Sprint("call-", n)
		d.o.Handle(name, outbox.Call{KeyLength: n})
		d.within(func(tx *sql.Tx) error {
			id, err := d.o.Add(d.t.Context(), tx, name, nil)
			lengths[id] = n
			return err
		})
	}
	for id, n := range lengths {
		if key := d.show(id).Key; len(key) != n {
			d.t.Errorf("key %q, want length %d", key, n)
		}
	}
	if err := d.o.Run(d.t.Context()); err == nil {
		d.t.Error("a Run without anything to do")
	}
}

func testPurge(d *desk) {
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		if string(j.Payload) == `"bad"` {
			return nil, outbox.Permanent(errGone)
		}
		return nil, nil
	}))
	d.run()
	states := []outbox.State{}
	for _, payload := range []string{"good", "good", "bad", "good"} {
		d.add(payload)
		states = append(states, d.next().State)
	}
	slices.Sort(states)
	time.Sleep(5 * time.Millisecond) // Keep
	for _, want := range []int{2, 1, 0} {
		if n, err := d.o.Purge(d.t.Context(), 2); n != want || err != nil {
			d.t.Errorf("purged %d, want %d, error %v", n, want, err)
		}
	}
	if list, err := d.o.List(d.t.Context(), outbox.Filter{}); err != nil || len(list) != 1 || list[0].State != outbox.Dead {
		d.t.Errorf("left %v, error %v, of %v", list, err, states)
	}
}

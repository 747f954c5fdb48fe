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

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

func TestACall(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			tests := callTests
			if slices.Contains(dbtest.Each(), c) { // what the drivers' options change is shown by the others
				tests = slices.Concat(callTests, harshTests)
			}
			for i, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.f(w.desk(t, fmt.Sprint("outbox_", i), test.o)) })
			}
		})
	}
}

type callTest struct {
	name string
	o    outbox.Options
	f    func(*desk)
}

var callTests = []callTest{
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
	{"a worker that vanished during the last try: dead, not compensated", outbox.Options{}, testVanished},
	{"a compensation that never succeeds: dead", outbox.Options{}, testCompensationFails},
	{"a compensation that ends its transaction by hand", outbox.Options{}, testCompensationCommits},
	{"a lease that went to somebody else", outbox.Options{Lease: time.Second}, testLost},
	{"a call that outlives its first lease", outbox.Options{Lease: 2 * time.Second}, testLong},
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

// Case 53: nothing was committed, so nothing is called.
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
	d.within(func(tx *sql.Tx) error {
		_, err := tx.ExecContext(d.t.Context(), `SAVEPOINT theirs`)
		must(d.t, err)
		_, err = d.o.Add(d.t.Context(), tx, "call", "bad")
		must(d.t, err)
		_, err = tx.ExecContext(d.t.Context(), `ROLLBACK TO SAVEPOINT theirs`)
		return err
	})
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
		if !strings.HasPrefix(j.Error, "try 2: 坏") || len([]rune(j.Error)) != 500 {
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

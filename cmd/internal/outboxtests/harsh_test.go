package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/outbox"
)

// harshTests are what a hard day brings.
var harshTests = []callTest{
	{"a result and an error that panic themselves", outbox.Options{}, testTheyPanic},
	{"a result that the database refuses", outbox.Options{Lease: 10 * time.Second}, testRefusedResult},
	{"a function that does not heed its context", outbox.Options{Lease: time.Second, Poll: 50 * time.Millisecond}, testHeedless},
	{"a worker that vanished before the last try: taken over with the same key", outbox.Options{}, testTakenOver},
	{"a worker that vanished during the last compensation: dead", outbox.Options{}, testVanishedCompensating},
	{"a compensation whose call somebody else has: nothing of it stays", outbox.Options{}, testLostCompensation},
	{"names that nobody here makes are left alone", outbox.Options{}, testUnknownName},
	{"a payload and a result far above the default", outbox.Options{MaxPayload: 1 << 20}, testLarge},
	{"a pool of one connection", outbox.Options{}, testOneConnection},
	{"sessions in two time zones", outbox.Options{}, testZones},
}

type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("it does not want to") }

type ownError struct{ text string }

func (e *ownError) Error() string { return e.text }

func testTheyPanic(d *desk) {
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		if j.Attempts == 1 {
			var none *ownError
			return nil, none // not nil: calling its Error panics
		}
		return bomb{}, nil
	}))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed, outbox.Done)
	if j := d.show(id); j.Attempts != 2 || !strings.Contains(j.Error, "it does not want to") {
		d.t.Errorf("became %+v", j)
	}
}

// Else a call that is done would be made again, as often as it may be.
func testRefusedResult(d *desk) {
	if d.c.Dialect == nebis.SQLite || strings.HasPrefix(d.c.Name, "mysql") {
		d.t.Skip("no CHECK can be added to a table, or none is looked at")
	}
	_, err := d.db.ExecContext(d.t.Context(), `ALTER TABLE `+d.table+` ADD CONSTRAINT no_result CHECK (result IS NULL)`)
	must(d.t, err)
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) { return "too much", nil }))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Done)
	if j := d.show(id); j.State != outbox.Done || j.Attempts != 1 || !strings.HasPrefix(j.Error, "done; what came with it cannot be saved: ") {
		d.t.Errorf("became %+v", j)
	}
}

// It goes on beside the next try, which has the same key, and saves nothing.
func testHeedless(d *desk) {
	keys, goOn := make(chan string, 2), make(chan bool)
	call := quick(func(_ context.Context, j *outbox.Job) (any, error) {
		keys <- j.Key
		if j.Attempts == 1 {
			<-goOn
			return "the first", nil
		}
		return "the second", nil
	})
	call.Timeout = 20 * time.Millisecond
	d.o.Handle("call", call)
	d.run()
	id := d.add(1)
	d.becomes(outbox.Done)
	goOn <- true
	if e := d.next(); !errors.Is(e.Err, nebis.ErrLost) {
		d.t.Errorf("the first became %s, error %v", e.State, e.Err)
	}
	if first, second := <-keys, <-keys; first != second {
		d.t.Errorf("key %s became %s", first, second)
	}
	if j := d.show(id); string(j.Result) != `"the second"` || j.Attempts != 2 {
		d.t.Errorf("became %+v", j)
	}
}

// abandons makes a row what a worker that vanished has left.
func (d *desk) abandons(set string) {
	d.t.Helper()
	d.within(func(tx *sql.Tx) error {
		_, err := tx.ExecContext(d.t.Context(), `UPDATE `+d.table+` SET token = 'another', due_at = '2020-01-01 00:00:00', `+set)
		return err
	})
}

func testTakenOver(d *desk) {
	keys := make(chan string, 1)
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		keys <- j.Key
		return nil, nil
	}))
	id := d.add(1)
	d.abandons(`state = 'running', attempts = 2`)
	before := d.show(id)
	if !before.Held || !before.Overdue {
		d.t.Errorf("left as %+v", before)
	}
	d.run()
	d.becomes(outbox.Done)
	if j := d.show(id); j.Attempts != 3 || <-keys != before.Key || j.Key != before.Key {
		d.t.Errorf("became %+v", j)
	}
}

func testVanishedCompensating(d *desk) {
	call := quick(refuse)
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error { return d.cancel(ctx, tx) }
	d.o.Handle("call", call)
	id := d.add(1)
	d.abandons(`state = 'compensating', attempts = 3, compensations = 3`)
	d.run()
	d.becomes(outbox.Dead)
	if j := d.show(id); !strings.Contains(j.Error, "vanished") || d.count(d.t, "cancelled", d.table) != 0 {
		d.t.Errorf("became %+v", j)
	}
}

func testLostCompensation(d *desk) {
	call := quick(func(context.Context, *outbox.Job) (any, error) { return nil, outbox.Permanent(errGone) })
	call.Compensate = func(ctx context.Context, tx *sql.Tx, j *outbox.Job) error {
		if err := d.cancel(ctx, tx); err != nil || j.Compensations > 1 {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE %s SET token = 'another' WHERE id = %d`, d.table, j.ID))
		return err
	}
	d.o.Handle("call", call)
	d.run()
	d.add(1)
	d.becomes(outbox.Compensating)
	if e := d.becomes(outbox.Compensating); !errors.Is(e.Err, nebis.ErrLost) {
		d.t.Errorf("error %v", e.Err)
	}
	if n := d.count(d.t, "cancelled", d.table); n != 0 {
		d.t.Fatalf("cancelled %d times by the one that lost it", n)
	}
	d.becomes(outbox.Compensated)
	if n := d.count(d.t, "cancelled", d.table); n != 1 {
		d.t.Errorf("cancelled %d times", n)
	}
}

func testUnknownName(d *desk) {
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) { return nil, nil }))
	other := d.world.desk(d.t, d.table, outbox.Options{})
	other.o.Handle("call", outbox.Call{KeyLength: 64})
	other.o.Handle("Call", outbox.Call{})
	ids := map[string]int64{}
	for _, name := range []string{"Call", "call"} {
		d.within(func(tx *sql.Tx) (err error) {
			ids[name], err = other.o.Add(d.t.Context(), tx, name, 1)
			return err
		})
	}
	d.run()
	if e := d.becomes(outbox.Done); e.ID != ids["call"] {
		d.t.Errorf("made call %d of %v", e.ID, ids)
	}
	if j := d.show(ids["Call"]); j.State != outbox.Pending || j.Attempts != 0 {
		d.t.Errorf("became %+v", j)
	}
}

func testLarge(d *desk) {
	large := strings.Repeat("购物车 👜 ", 20_000)
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		var got string
		if err := j.Decode(&got); err != nil || got != large {
			d.t.Errorf("%d bytes came as %d, error %v", len(large), len(got), err)
		}
		return got, nil
	}))
	d.run()
	id := d.add(large)
	d.becomes(outbox.Done)
	if j := d.show(id); string(j.Result) != string(j.Payload) || len(j.Result) < 300_000 {
		d.t.Errorf("%d bytes became a result of %d: %s", len(j.Payload), len(j.Result), j.Error)
	}
}

func testOneConnection(d *desk) {
	one := *d.world
	one.db = d.c.Pool(d.t, d.dsn)
	one.db.SetMaxOpenConns(1)
	desk := one.desk(d.t, d.table, outbox.Options{})
	call := quick(refuse)
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error { return desk.cancel(ctx, tx) }
	desk.o.Handle("call", call)
	desk.run()
	desk.add(1)
	desk.becomes(outbox.Failed, outbox.Failed, outbox.Compensating, outbox.Compensated)
	if n := desk.count(d.t, "cancelled", d.table); n != 1 {
		d.t.Errorf("cancelled %d times", n)
	}
}

// What is due, and whose lease runs, is the same in both.
func testZones(d *desk) {
	option := map[nebis.Dialect]string{nebis.MySQL: "time_zone=%27-11%3A00%27", nebis.Postgres: "timezone=Pacific/Midway"}[d.c.Dialect]
	if option == "" {
		d.t.Skip("SQLite has no sessions")
	}
	west := *d.world
	west.db = d.c.Pool(d.t, d.dsn+map[bool]string{true: "&", false: "?"}[strings.Contains(d.dsn, "?")]+option)
	there := west.desk(d.t, d.table, outbox.Options{})
	there.o.Handle("call", outbox.Call{})
	if j := d.show(there.add(1)); !j.Overdue || time.Since(j.Due).Abs() > time.Hour {
		d.t.Errorf("a call added in the west is due at %v: %v", j.Due, j.Overdue)
	}
	here := d.world.desk(d.t, d.table, outbox.Options{})
	here.o.Handle("call", quick(func(ctx context.Context, j *outbox.Job) (any, error) {
		now, err := there.o.Show(ctx, j.ID)
		if err == nil && (!now.Held || now.Overdue) {
			err = fmt.Errorf("the lease is over in the west at %v", now.Due)
		}
		return nil, err
	}))
	here.run()
	here.becomes(outbox.Done)
}

package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/outbox"
)

func refuse(context.Context, *outbox.Job) (any, error) { return nil, errGone }

// cancel is the database part of a compensation.
func (d *desk) cancel(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, insert(d.c.Dialect, "cancelled"), d.table)
	return err
}

// Case 54: its tries have an end, after which it is compensated once.
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

// Case 54: where nothing can compensate it, it is there for a person to see.
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

// Nobody knows whether it reached the other side: nothing is undone blindly.
func testVanished(d *desk) {
	call := quick(func(context.Context, *outbox.Job) (any, error) { return nil, errors.New("called once more") })
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error { return d.cancel(ctx, tx) }
	d.o.Handle("call", call)
	id := d.add(1)
	d.abandons(`state = 'running', attempts = 3`)
	d.run()
	d.becomes(outbox.Dead)
	if j := d.show(id); !strings.Contains(j.Error, "nobody knows") || j.Compensations != 0 {
		d.t.Errorf("became %+v", j)
	}
}

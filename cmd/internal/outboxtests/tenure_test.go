package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/outbox"
)

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
			if err != nil || now.Due.Sub(now.CreatedAt) > 3*time.Second {
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

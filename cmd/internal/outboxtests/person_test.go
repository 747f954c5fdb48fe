package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/outbox"
)

func TestAPerson(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			for i, test := range personTests {
				t.Run(test.name, func(t *testing.T) { test.f(w.desk(t, fmt.Sprint("outbox_", i), outbox.Options{})) })
			}
		})
	}
}

var personTests = []struct {
	name string
	f    func(*desk)
}{
	{"reads page by page", testPages},
	{"has a dead call made again, with the same key", testRetry},
	{"parks a call, and has it compensated", testParkAndCompensate},
	{"does nothing to a call that is under way or done", testRefused},
	{"has a call compensated that cannot be", testNoCompensation},
	{"is one of many who decide at once: one does", testManyPersons},
}

// Those who come too late are told so, or lose to a lock: none acts on what it has
// not seen.
func testManyPersons(d *desk) {
	d.o.Handle("call", outbox.Call{})
	id := d.add(1)
	d.does(d.o.Park, id)
	errs := make(chan error)
	var looking sync.WaitGroup
	for range 8 {
		looking.Add(1)
		go func() { errs <- d.decideTogether(id, &looking) }()
	}
	var done int
	for range 8 {
		if err := <-errs; err == nil {
			done++
		} else if errors.Is(err, nebis.ErrInProgress) {
			d.t.Error(err)
		}
	}
	if j := d.show(id); done != 1 || j.State != outbox.Pending {
		d.t.Errorf("%d have done it; became %+v", done, j)
	}
}

func testPages(d *desk) {
	d.o.Handle("call", outbox.Call{})
	d.o.Handle("other", outbox.Call{})
	for i := range 7 {
		d.add(i)
	}
	d.within(func(tx *sql.Tx) error {
		_, err := d.o.Add(d.t.Context(), tx, "other", 1)
		return err
	})
	var sizes []int
	f := outbox.Filter{State: outbox.Pending, Name: "call", Limit: 3}
	for {
		page, err := d.o.List(d.t.Context(), f)
		must(d.t, err)
		sizes = append(sizes, len(page))
		for _, j := range page {
			if f.Before > 0 && j.ID >= f.Before || j.Name != "call" {
				d.t.Errorf("%s %d stands on the page after %d", j.Name, j.ID, f.Before)
			}
			f.Before = j.ID
		}
		if len(page) == 0 {
			break
		}
	}
	if fmt.Sprint(sizes) != "[3 3 1 0]" {
		d.t.Errorf("pages of %v", sizes)
	}
	if j, err := d.o.Show(d.t.Context(), 1<<40); j != nil || err != nil {
		d.t.Errorf("a call that is not there: %v, error %v", j, err)
	}
}

// does has a person do something to a call, and commits.
func (d *desk) does(f func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error), id int64) (before *outbox.Job) {
	d.t.Helper()
	d.within(func(tx *sql.Tx) (err error) {
		before, err = f(d.t.Context(), tx, id, "因为 the bank is back")
		return err
	})
	return before
}

// refuses has it refused, and commits nothing.
func (d *desk) refuses(f func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error), id int64, reason string, want error) {
	d.t.Helper()
	tx, err := d.db.BeginTx(d.t.Context(), nil)
	must(d.t, err)
	defer tx.Rollback()
	if _, err := f(d.t.Context(), tx, id, reason); !errors.Is(err, want) {
		d.t.Errorf("error %v, want %v", err, want)
	}
}

func testRetry(d *desk) {
	keys := make(chan string, 10)
	var healthy atomic.Bool
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		keys <- j.Key
		if !healthy.Load() {
			return nil, outbox.Permanent(errGone)
		}
		return nil, nil
	}))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Dead)
	healthy.Store(true)
	if before := d.does(d.o.Retry, id); before.State != outbox.Dead || before.Error != errGone.Error() {
		d.t.Errorf("before %+v", before)
	}
	d.becomes(outbox.Done)
	if j := d.show(id); j.Attempts != 1 {
		d.t.Errorf("%d tries, want those before to be forgotten", j.Attempts)
	}
	if first, second := <-keys, <-keys; first != second {
		d.t.Errorf("key %s became %s", first, second)
	}
}

func testParkAndCompensate(d *desk) {
	call := quick(nil)
	call.Compensate = func(ctx context.Context, tx *sql.Tx, _ *outbox.Job) error { return d.cancel(ctx, tx) }
	d.o.Handle("call", call) // without Do: nobody here makes it
	id := d.add(1)
	d.does(d.o.Park, id)
	if j := d.show(id); j.State != outbox.Dead || !j.Due.IsZero() || j.Error != "by hand, park: 因为 the bank is back" {
		d.t.Errorf("parked: %+v", j)
	}
	d.does(d.o.Compensate, id)
	if j := d.show(id); j.State != outbox.Compensating || j.Due.IsZero() {
		d.t.Errorf("to be compensated: %+v", j)
	}
	other := d.world.desk(d.t, d.table, outbox.Options{}) // another program, which can
	call.Do = refuse
	other.o.Handle("call", call)
	other.run()
	other.becomes(outbox.Compensated)
	if n := d.count(d.t, "cancelled", d.table); n != 1 {
		d.t.Errorf("cancelled %d times", n)
	}
}

// decideTogether has a person look, wait until all have, and decide. Where a
// transaction goes on seeing what it has seen, all decide about the same row.
func (d *desk) decideTogether(id int64, looking *sync.WaitGroup) error {
	tx, err := d.db.BeginTx(d.t.Context(), nil)
	if err == nil {
		defer tx.Rollback()
		var n int
		err = tx.QueryRowContext(d.t.Context(), `SELECT COUNT(*) FROM `+d.table).Scan(&n)
	}
	looking.Done()
	looking.Wait()
	if err == nil {
		_, err = d.o.Retry(d.t.Context(), tx, id, "why")
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func testRefused(d *desk) {
	begun, goOn := make(chan bool), make(chan bool)
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) {
		begun <- true
		<-goOn
		return nil, nil
	}))
	d.run()
	id := d.add(1)
	<-begun
	all := []func(context.Context, *sql.Tx, int64, string) (*outbox.Job, error){d.o.Retry, d.o.Park, d.o.Compensate}
	for _, f := range all {
		d.refuses(f, id, "why", nebis.ErrInProgress)
		d.refuses(f, 1<<40, "why", nebis.ErrState)
		d.refuses(f, id, " ", nebis.ErrKey)
	}
	goOn <- true
	d.becomes(outbox.Done)
	for _, f := range all {
		d.refuses(f, id, "why", nebis.ErrState)
	}
}

func testNoCompensation(d *desk) {
	d.o.Handle("call", quick(refuse))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Failed, outbox.Failed, outbox.Dead)
	d.does(d.o.Compensate, id)
	d.becomes(outbox.Dead)
	if j := d.show(id); j.Error == "" || j.Attempts != 3 {
		d.t.Errorf("became %+v", j)
	}
}

// Many processes may make the table at the same time, and none takes one that
// belongs to something else.
func TestMigrate(t *testing.T) {
	for _, c := range dbtest.Each() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, c: c, dsn: c.Fresh(t)}
			w.db = c.Pool(t, w.dsn)
			errs := make(chan error)
			for range 8 {
				go func() { errs <- w.outbox(nil).Migrate(t.Context()) }()
			}
			for range 8 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			_, err := w.db.ExecContext(t.Context(), `CREATE TABLE theirs (id INTEGER)`)
			must(t, err)
			if err := w.outbox(&outbox.Options{Table: "theirs"}).Migrate(t.Context()); err == nil {
				t.Error("took a table of something else")
			}
		})
	}
}

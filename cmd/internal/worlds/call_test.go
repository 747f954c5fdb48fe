package worlds

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
)

// call plays one call of the plan: once, or until it has an answer.
func (w *world) call(n int, c *callPlan) {
	time.Sleep(c.delay)
	for attempt := range 30 {
		rec := w.attempt(c, fmt.Sprintf("%d.%d", n, attempt))
		if !c.insists || !rec.again() || rec.ctxDone {
			return
		}
		time.Sleep(time.Duration(1+n%4) * time.Millisecond)
	}
}

// attempt is one call, in a goroutine of its own because a function may end it.
func (w *world) attempt(c *callPlan, name string) *record {
	rec := &record{plan: c, key: c.key, name: name}
	ctx, cancel := c.context(context.WithValue(context.Background(), recordKey{}, rec))
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.file(ctx, rec)
		defer func() {
			if v := recover(); v != nil && v != any(errPlanned) {
				rec.brokef("panic: %v", v)
			}
		}()
		if c.tx {
			w.doTx(ctx, rec, cancel)
		} else {
			w.do(ctx, rec, cancel)
		}
		rec.returned = true
	}()
	<-done
	return rec
}

// file keeps a record that is complete.
func (w *world) file(ctx context.Context, rec *record) {
	rec.ended, rec.ctxDone = w.tick(), ctx.Err() != nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, rec)
}

// context returns the call's context, which ends as planned.
func (c *callPlan) context(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	switch c.cancel.when {
	case 'b':
		cancel(errStopped)
	case 'd':
		late, stop := context.WithTimeout(ctx, c.cancel.after)
		return late, func(err error) { cancel(err); stop() }
	case 'w':
		timer := time.AfterFunc(c.cancel.after, func() { cancel(errStopped) })
		return ctx, func(err error) { timer.Stop(); cancel(err) }
	}
	return ctx, cancel
}

// op is the operation of a call.
func (w *world) op(c *callPlan, rec *record) nebis.Op {
	k := w.plan.keys[c.key]
	op := k.op
	op.Fingerprint, op.Wait = c.asks, c.wait
	if op.Keep == 0 {
		op.Keep = time.Hour
	}
	if k.large {
		op.MaxResponse = 100
	}
	if c.recheck != 0 {
		op.Recheck = func(ctx context.Context, tx *sql.Tx, response []byte) (bool, error) {
			return w.recheck(ctx, tx, rec, response)
		}
	}
	return op
}

func (w *world) recheck(ctx context.Context, tx *sql.Tx, rec *record, response []byte) (bool, error) {
	var a answer
	if err := json.Unmarshal(response, &a); err != nil && !w.plan.keys[rec.key].large {
		rec.brokef("Recheck got %q", response)
	}
	rec.rechecked = append(rec.rechecked, a)
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM stock").Scan(&n); err != nil {
		rec.blind = true
		return false, errRecheck
	}
	switch rec.plan.recheck {
	case 'n':
		w.reopened(rec.key)
		return false, nil
	case 'e':
		return false, errRecheck
	}
	return true, nil
}

func (w *world) do(ctx context.Context, rec *record, cancel context.CancelCauseFunc) {
	c := rec.plan
	op := w.op(c, rec)
	rec.started = w.tick()
	rec.got, rec.replayed, rec.err = nebis.Do(ctx, w.stores[c.store], op, func(ctx context.Context, tx *sql.Tx) (answer, error) {
		return w.function(ctx, tx, rec, c.script, cancel)
	})
}

// doTx begins a transaction, writes a note of its own, does the operation, and
// writes another note.
func (w *world) doTx(ctx context.Context, rec *record, cancel context.CancelCauseFunc) {
	c := rec.plan
	rec.end = neverCalled
	rec.started = w.tick()
	tx, err := w.dbs[c.store].BeginTx(ctx, &sql.TxOptions{Isolation: w.plan.stores[c.store].o.Isolation})
	if err != nil {
		return
	}
	defer tx.Rollback()
	if w.note(ctx, tx, rec, "before") != nil {
		return
	}
	rec.end = rolledBack
	rec.got, rec.replayed, rec.err = nebis.DoTx(ctx, w.stores[c.store], tx, w.op(c, rec), func(ctx context.Context) (answer, error) {
		return w.function(ctx, tx, rec, c.script, cancel)
	})
	if c.rollsBack || txGone(rec.err) {
		return
	}
	if err := w.note(ctx, tx, rec, "after"); err != nil {
		if ctx.Err() == nil && !w.serializable(c.store) {
			rec.brokef("the caller's transaction cannot go on after %v: %v", rec.err, err)
		}
		return
	}
	rec.end = maybe
	if tx.Commit() == nil {
		rec.end = committed
	}
}

// serializable: there any statement may fail for what others have done.
func (w *world) serializable(store int) bool {
	return w.plan.stores[store].o.Isolation == sql.LevelSerializable
}

// note writes what is the caller's own.
func (w *world) note(ctx context.Context, tx *sql.Tx, rec *record, which string) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id, k) VALUES ('%s/%s', -1)", rec.name, which))
	return err
}

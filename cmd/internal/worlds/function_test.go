package worlds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// function is what the calls run: it follows its script and keeps a record.
func (w *world) function(ctx context.Context, tx *sql.Tx, rec *record, s script, cancel context.CancelCauseFunc) (answer, error) {
	r := &run{id: "run" + rec.name, rec: rec, asks: rec.plan.asks, began: w.tick()}
	rec.run, rec.runs = r, rec.runs+1
	defer func() {
		r.ended, r.cancelled = w.tick(), ctx.Err() != nil
		if rec.plan.cancel.when == 'f' {
			time.AfterFunc(rec.plan.cancel.after, func() { cancel(errStopped) })
		}
	}()
	f := function{w, r, ctx, tx, cancel}
	for _, st := range s {
		if err := f.step(st); err != nil {
			return answer{}, &runError{r, err}
		}
	}
	r.result, r.returned = answer{Run: r.id, Key: rec.key, Parts: len(r.parts)}, true
	if w.plan.keys[rec.key].large {
		r.result.Pad = strings.Repeat("x", 200)
	}
	return r.result, nil
}

type function struct {
	w      *world
	r      *run
	ctx    context.Context
	tx     *sql.Tx
	cancel context.CancelCauseFunc
}

func (f function) step(st step) error {
	switch st.do {
	case write:
		return f.write()
	case sleep:
		time.Sleep(time.Duration(st.n) * time.Microsecond)
	case stock:
		return f.exec(fmt.Sprintf("UPDATE stock SET n = n + 1 WHERE id = %d", st.n))
	case fail:
		return errPlanned
	case panics:
		panic(errPlanned)
	case exit:
		runtime.Goexit()
	case stop:
		f.cancel(errStopped)
	case below:
		return f.below(st.n)
	case itself:
		f.itself()
	case swallowed:
		f.ignore(f.exec(fmt.Sprintf("UPDATE stock SET n = n + 1 WHERE id = %d", st.n)))
	case spoil:
		f.ignore(f.exec("INSERT INTO stock (id, n) VALUES (1, 0)"))
	case belowS:
		if err := f.below(st.n); txGone(err) && !alive(err) {
			f.r.lost, f.r.lostTo = true, err
		}
	default:
		f.end(st.do)
	}
	return nil
}

// alive: DoTx gave up on a row that this transaction's snapshot cannot see, or that it
// met a deadlock over. It got back to its savepoint, so the transaction was not lost.
func alive(err error) bool { return strings.Contains(err.Error(), "the key's row cannot be ") }

func (f function) exec(q string) error {
	_, err := f.tx.ExecContext(f.ctx, q)
	f.r.erred = f.r.erred || err != nil
	return err
}

// write writes an order, with the time and the claim that it was written under.
func (f function) write() error {
	id := fmt.Sprintf("%s/%d", f.r.id, len(f.r.parts))
	err := f.exec(fmt.Sprintf("INSERT INTO orders (id, k, began, expires) VALUES ('%s', %d, %s, (SELECT %s FROM idempotency WHERE %s))",
		id, f.r.rec.key, f.w.p.now, f.w.p.expiry, f.w.where(f.r.rec.key)))
	if err == nil {
		f.r.parts = append(f.r.parts, part{id, f.r.handed != 0 || f.r.lost})
	}
	return err
}

// ignore goes on after an error that may have ended the transaction.
func (f function) ignore(err error) {
	if err == nil {
		return
	}
	for _, text := range []string{"1213", "1020", "eadlock"} {
		f.r.lost = f.r.lost || strings.Contains(err.Error(), text)
	}
	f.r.lost = f.r.lost || f.w.p.errorsAbort
}

// end ends the transaction by hand, where the database lets it.
func (f function) end(do byte) {
	var err error
	switch do {
	case txCommit:
		err = f.tx.Commit()
	case txBack:
		err = f.tx.Rollback()
	default:
		err = f.exec(byHand(do))
	}
	switch {
	case err != nil && f.ctx.Err() == nil:
		f.ignore(err)
	case do == sqlBegin && !f.w.p.ddlCommits, do == sqlDDL && !f.w.p.ddlCommits:
	case do == sqlAuto && (!f.w.p.armed || f.r.rec.plan.tx): // it is on
	default:
		f.r.handed = do
	}
}

// below does another key inside the same transaction.
func (f function) below(key int) error {
	w, outer := f.w, f.r.rec
	c := &callPlan{store: outer.plan.store, key: key, asks: "f:same", wait: outer.plan.wait, tx: true}
	rec := &record{plan: c, key: key, name: fmt.Sprintf("%s-%d", outer.name, w.tick()), outer: f.r, end: committed, started: w.tick()}
	ctx := context.WithValue(f.ctx, recordKey{}, rec)
	defer w.file(ctx, rec)
	rec.got, rec.replayed, rec.err = nebis.DoTx(ctx, w.stores[c.store], f.tx, w.op(c, rec), func(ctx context.Context) (answer, error) {
		return w.function(ctx, f.tx, rec, script{{write, 0}}, f.cancel)
	})
	rec.returned = true
	f.r.erred = f.r.erred || rec.err != nil
	return rec.err
}

// itself does the key that it holds: an error, at once.
func (f function) itself() {
	c := *f.r.rec.plan
	c.recheck = 0
	ctx := context.WithValue(f.ctx, recordKey{}, &record{})
	_, _, err := nebis.Do(ctx, f.w.stores[c.store], f.w.op(&c, f.r.rec), func(context.Context, *sql.Tx) (answer, error) {
		return answer{}, nil
	})
	if err == nil || errors.Is(err, nebis.ErrInProgress) {
		f.r.rec.brokef("a Do inside a Do of the same key: %v", err)
	}
}

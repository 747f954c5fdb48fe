package outbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/nebis-dev/nebis"
)

var errNoCompensation = errors.New("outbox: no compensation is registered for this call")

// compensate runs the compensation. Its writes and the call's state commit
// together. After an error of the commit nobody knows whether they have, but the
// save of the failed try does: it waits for a transaction that is still alive, and
// does not match where it has committed.
func (t *tenure) compensate() (end, error) {
	cause := t.j.Error
	switch {
	case t.c.Compensate == nil:
		return end{state: Dead, text: withCause(errNoCompensation, cause)}, errNoCompensation
	case t.j.Compensations > t.c.Attempts:
		err := errors.New("outbox: the worker vanished during the last compensation")
		return end{state: Dead, text: withCause(err, cause)}, err
	}
	err := t.do(t.compensated)
	if err == nil {
		return end{state: Compensated}, nil
	}
	e := end{state: Dead, text: withCause(err, cause)}
	if delay, again := t.c.again(t.j.Compensations, err); again {
		e.state, e.delay = Compensating, micros(delay)
	}
	return e, fmt.Errorf("compensate: %w", err)
}

// withCause puts what a compensation met before why the call had failed.
func withCause(err error, cause string) string {
	const sep = "; the call: "
	if _, before, twice := strings.Cut(cause, sep); twice {
		cause = before
	}
	return "compensate: " + err.Error() + sep + cause
}

// compensated is one transaction: the function, then the state, guarded by the
// token.
func (t *tenure) compensated(ctx context.Context) error {
	free, err := t.o.turn(ctx)
	if err != nil {
		return err
	}
	defer free()
	conn, err := t.o.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	rest, err := t.o.strict(ctx, conn)
	if err != nil {
		return err
	}
	defer rest()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// A function that ends the transaction, or loses it to a deadlock and goes on,
	// loses the savepoint with it.
	for _, q := range []string{t.o.q.takeWriter, `SAVEPOINT nebis_outbox`} {
		if q == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	j := *t.j
	if err := t.c.Compensate(ctx, tx, &j); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `RELEASE SAVEPOINT nebis_outbox`); err != nil {
		return fmt.Errorf("%w: %w", nebis.ErrTxGone, err)
	}
	saved, err := t.o.changed(ctx, tx, t.o.q.end, t.saving(end{state: Compensated, text: t.j.Error})...)
	if err == nil && !saved {
		err = nebis.ErrLost
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// strict makes MySQL and MariaDB roll back what a function writes after it has
// lost its transaction: with autocommit that would become permanent.
func (o *Outbox) strict(ctx context.Context, conn *sql.Conn) (rest func(), err error) {
	if o.d != nebis.MySQL {
		return func() {}, nil
	}
	if _, err := conn.ExecContext(ctx, `SET autocommit = 0`); err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		for _, q := range []string{`ROLLBACK`, `SET autocommit = 1`} {
			if _, err := conn.ExecContext(ctx, q); err != nil {
				_ = conn.Raw(func(any) error { return driver.ErrBadConn })
				return
			}
		}
	}, nil
}

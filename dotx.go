package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// DoTx is Do inside a transaction that the caller began, for callers whose ORM
// owns it. fn writes through that transaction. The result counts once the
// caller has committed; DoTx cannot know.
//
// When fn fails, what it wrote and the claim are undone, its error comes back as
// it is, and the caller's transaction goes on. A duplicate leaves the
// transaction usable, too. ErrTxGone without ErrUnknown: the database has taken
// the transaction away (a deadlock, a serialization failure), fn has ended it, or
// its snapshot is too old to see the key's row, so that nothing can be done in
// it; roll back and begin anew. A DoTx waits in the database, holding the
// caller's connection.
func DoTx[T any](ctx context.Context, s *Store, tx *sql.Tx, op Op, fn func(ctx context.Context) (T, error)) (result T, replayed bool, err error) {
	var first T
	raw, replayed, err := s.doTx(ctx, tx, op, func(ctx context.Context) ([]byte, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return recode(v, &first)
	})
	if err != nil {
		return result, false, err
	}
	if !replayed {
		return first, false, nil
	}
	return decode[T](raw)
}

// A guest is a claim inside somebody else's transaction, below a savepoint.
type guest struct {
	*call
	tx *sql.Tx
	e  *engine
	id int64 // of the claimed row

	// Of a name of its own: on MySQL a second savepoint of the same name, by a
	// DoTx inside a DoTx, would take the first one away.
	savepoint string
}

// errNoRecheck: to run again in the caller's transaction would need the row's
// lock, which the caller may never let go of.
var errNoRecheck = errors.New("nebis: DoTx cannot ask Op.Recheck; look at the business row before it")

func (s *Store) doTx(ctx context.Context, tx *sql.Tx, op Op, fn func(context.Context) ([]byte, error)) (raw []byte, replayed bool, err error) {
	c, err := s.newCall(op)
	defer func() { c.observe(ctx, err) }()
	if err != nil {
		return nil, false, err
	}
	if op.Recheck != nil {
		return nil, false, errNoRecheck
	}
	if err := c.nested(ctx); err != nil && !errors.Is(err, errNestedWriter) {
		return nil, false, err
	}
	e, err := s.engine(ctx, tx)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrTxGone, err)
	}
	g := &guest{call: c, tx: tx, e: e, savepoint: "nebis_" + c.token}
	r, err := g.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	if r != nil {
		c.ev.Outcome = ReplayedTable
		if r, _, err = c.settled(r); err != nil {
			return nil, false, err
		}
		raw, err = c.answer(r)
		return raw, err == nil, err
	}
	return nil, false, g.run(ctx, fn)
}

// acquire claims the key or returns the row that is in the way. After it, if
// there is no error, the savepoint stands when the key was claimed, and the
// transaction is usable in any case.
func (g *guest) acquire(ctx context.Context) (*row, error) {
	var seen *row  // to be taken over
	var last error // why the last claim failed
	for n := 0; n < g.s.o.MaxClaims; n++ {
		if n > 0 {
			g.ev.Reclaims++
			if last != nil && g.left() <= 0 {
				return nil, g.heldTooLong(last)
			}
		}
		won, r, err := g.claim(ctx, seen)
		switch {
		case won:
			return nil, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrTxGone):
			return nil, err
		case deadlocked(err):
			// The transaction holds what the other one waits for, and would go on to: they
			// would meet again until the wait is used up.
			return nil, fmt.Errorf("%w: the key's row cannot be had: %w", ErrTxGone, err)
		case r != nil && !r.free:
			return r, nil
		}
		seen, last = r, err
	}
	// The row is there, but this transaction's snapshot is older.
	return nil, fmt.Errorf("%w: the key's row cannot be seen: %w", ErrTxGone, orBusy(last))
}

// deadlocked reports whether PostgreSQL ended a statement to break a deadlock. Other
// databases end the transaction with it.
func deadlocked(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "40P01"
}

// claim sends one claim below a savepoint. When it does not get the row, all is
// as before, and the row that is in the way is returned if it can be seen.
func (g *guest) claim(ctx context.Context, seen *row) (won bool, r *row, err error) {
	if _, err := g.tx.ExecContext(ctx, `SAVEPOINT `+g.savepoint); err != nil {
		return false, nil, fmt.Errorf("%w: %w", ErrTxGone, err)
	}
	if g.e.upsert != "" {
		won, r, err = g.claimMySQL(ctx)
	} else {
		stmt, args := g.call.claim(g.e, g.token, seen)
		g.id, won, err = g.e.won(ctx, g.tx, nil, g.e.boundedTx.to(stmt, max(g.left(), 0)), args)
		if seen != nil {
			g.id = seen.id
		}
	}
	if won {
		return true, nil, nil
	}
	if err != nil {
		err = lostClaim{redacted{err, g.op}}
	}
	if gone := g.undo(ctx); gone != nil {
		return false, nil, fmt.Errorf("%w: %w", ErrTxGone, errors.Join(err, gone))
	}
	if g.e.upsert == "" {
		var readErr error
		if r, readErr = readRow(ctx, g.tx, g.e.read, g.op); readErr != nil {
			err = fmt.Errorf("%w: %w", ErrTxGone, readErr)
		}
	}
	return false, r, err
}

// claimMySQL claims with the statement that cannot lose the transaction, and
// reads who won. Outside a transaction a savepoint is gone at once: the caller's
// transaction was lost before, and a claim now would be permanent. MySQL proper
// waits for its session's own time: a limit set here could not be taken back for
// sure, since the caller's context may end the transaction in between.
func (g *guest) claimMySQL(ctx context.Context) (bool, *row, error) {
	if _, err := g.tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+g.savepoint); err != nil {
		return false, nil, err
	}
	_, args := g.call.claim(g.e, g.token, nil)
	if _, err := g.tx.ExecContext(ctx, g.e.boundedTx.to(g.e.upsert, max(g.left(), 0)), args...); err != nil {
		return false, nil, err
	}
	r, err := readRow(ctx, g.tx, g.e.readTx, g.op)
	if err != nil || r == nil {
		return false, nil, err
	}
	g.id = r.id
	return r.token == g.token, r, nil
}

// undo rolls back to the savepoint, so that nothing of this claim or of the
// function is left. An error: the transaction is gone.
func (g *guest) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.s.o.CommitWait)
	defer cancel()
	_, err := g.tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+g.savepoint)
	if err == nil {
		_, err = g.tx.ExecContext(ctx, `RELEASE SAVEPOINT `+g.savepoint)
	}
	return err
}

// run runs the function and saves its result.
func (g *guest) run(ctx context.Context, fn func(context.Context) ([]byte, error)) error {
	g.ev.Outcome, g.ev.Waited = Released, time.Since(g.start)
	begun, kept := time.Now(), false
	defer func() {
		g.ev.Ran = time.Since(begun)
		if !kept {
			_ = g.undo(ctx) // fn did not return
		}
	}()
	raw, err := fn(g.holding(ctx, nil))
	kept = true
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if gone := g.undo(ctx); gone != nil {
			return fmt.Errorf("%w: %w", ErrTxGone, err)
		}
		return err
	}
	if err := g.save(ctx, raw); err != nil {
		return fmt.Errorf("%w: %w", ErrTxGone, redacted{err, g.op})
	}
	g.ev.Outcome = Ran
	return nil
}

// save releases the savepoint, which is not there any more if fn ended the
// transaction, and stores the answer.
func (g *guest) save(ctx context.Context, raw []byte) error {
	if _, err := g.tx.ExecContext(ctx, `RELEASE SAVEPOINT `+g.savepoint); err != nil {
		return err
	}
	response := sql.NullString{String: string(raw), Valid: len(raw) <= g.op.MaxResponse}
	save, values := g.e.saveTx, []any{g.e.answer(response)}
	if g.op.seen().Valid {
		save, values = g.e.saveTxSeen, append(values, g.op.seen())
	}
	res, err := g.tx.ExecContext(ctx, save, g.e.saving(g.op, g.id, g.token, values...)...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		return errNoRow
	}
	return err
}

package nebis

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"
)

// A call is one call of Do.
type call struct {
	s        *Store
	op       Op
	token    string // of the claim that the function runs under
	deadline time.Time
	start    time.Time
	ev       Event
}

func (s *Store) newCall(op Op) (*call, error) {
	c := &call{s: s, op: op, start: time.Now(), ev: Event{Scope: op.Scope}}
	var err error
	if c.op, err = op.checked(); err != nil {
		return c, err
	}
	orDefault(&c.op.Keep, s.o.Keep)
	orDefault(&c.op.KeepSeen, s.o.KeepSeen)
	orDefault(&c.op.Wait, s.o.Wait)
	orDefault(&c.op.MaxResponse, s.o.MaxResponse)
	c.deadline = c.start.Add(max(c.op.Wait, 0))
	c.token = rand.Text()
	return c, nil
}

func (c *call) key() flightKey { return flightKey{c.op.Scope, c.op.Owner, c.op.Key} }

// left is what is left of the wait.
func (c *call) left() time.Duration { return time.Until(c.deadline) }

// lookFirst returns the row of a key that this process has seen done, if it
// still is. Whatever else it finds, errors too, is left to the claim.
func (c *call) lookFirst(ctx context.Context) *row {
	e, pre := c.s.eng.Load(), c.s.pre.Load()
	if pre == nil || e.blindWrite || !c.s.done.has(c.key()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(c.left(), time.Second))
	defer cancel()
	var q querier = c.s.db
	if pre.own != nil {
		q = preparedQuery{pre.own}
	}
	r, err := readRow(ctx, q, e.own, c.op)
	if err != nil || r == nil || r.status != "done" || r.free {
		return nil
	}
	if !r.fresh {
		return r
	}
	conn, err := c.s.db.Conn(ctx)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if r, err = e.hardened(ctx, conn, r, c.left()); err != nil {
		return nil
	}
	return r
}

// acquire claims the key for token: a session that holds it, or the row that
// has been there before, or an error. A row that has the token own is returned
// whatever its state: the caller's own commit is what it looks for.
func (c *call) acquire(ctx context.Context, token, own string) (*session, *row, error) {
	var seen *row  // to be taken over
	var last error // why the last claim failed
	for n, broken, late := 0, 0, 0; n < c.s.o.MaxClaims; n++ {
		if n > 0 {
			c.ev.Reclaims++
			pause(ctx, broken)
		}
		x, r, err := c.try(ctx, token, seen, n)
		switch {
		case x != nil:
			return x, seen, nil
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case errors.Is(err, ErrBusy), errors.Is(err, ErrInProgress):
			return nil, nil, err
		case err != nil && !errors.As(err, new(lostClaim)):
			if broken++; broken == maxBroken {
				return nil, nil, err
			}
		case r == nil: // rolled back, or still held
			if c.left() <= 0 {
				late++
			}
			if late == maxLate {
				return nil, nil, c.heldTooLong(err)
			}
		case r.token == own && own != "":
			return nil, r, nil
		case r.free:
			seen = r
			continue
		default:
			return nil, r, nil
		}
		seen, last = nil, err
	}
	return nil, nil, fmt.Errorf("%w: %d claims: %w", ErrBusy, c.s.o.MaxClaims, orBusy(last))
}

const (
	// After this many tries in a row without a connection that works, the
	// database is out of reach. The pool may have stale ones.
	maxBroken = 3

	// Tries after the wait is used up. A first one may have met a deadlock.
	maxLate = 2
)

var errTurmoil = errors.New("the row came and went")

func orBusy(err error) error {
	if err == nil {
		return errTurmoil
	}
	return err
}

// lostClaim is the error of a claim statement that did not get the row. What it
// says does not matter: the table tells who won.
type lostClaim struct{ redacted }

func (c *call) heldTooLong(err error) error {
	if c.s.d != SQLite {
		return fmt.Errorf("%w (claim: %w)", ErrInProgress, orBusy(err))
	}
	// The one writer of the whole database is busy, not this key.
	return fmt.Errorf("%w: %w", ErrBusy, orBusy(err))
}

// try sends one claim: an insert, or the takeover of the row that was seen. It
// returns a session that holds the row, or the row that is in the way. Neither:
// the row is held or gone, and the error, a lostClaim, is what the claim said.
func (c *call) try(ctx context.Context, token string, seen *row, n int) (*session, *row, error) {
	var wait time.Duration
	if n > 0 && c.s.d != SQLite {
		leave, err := c.takePlace(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer leave()
		wait = min(c.s.o.WaitPiece, max(c.left(), 0))
		if e := c.s.eng.Load(); seen == nil && e != nil && e.await != "" {
			c.await(ctx, e, wait)
			wait = 0
		}
	}
	x, err := c.s.begin(ctx, max(c.left(), time.Second))
	if err != nil {
		return nil, nil, err
	}
	if n == 0 && x.e.sessionWait > 0 && c.op.Wait > 0 {
		wait = c.s.o.WaitPiece // a shorter one costs two round trips here
	}
	stmt, args := c.claim(x.e, token, seen)
	won, claimErr := x.claim(ctx, seen, stmt, args, wait)
	if won {
		return x, nil, nil
	}
	defer x.close()
	x.rollback() // a loser still holds locks
	lost := lostClaim{redacted{orBusy(claimErr), c.op}}
	r, err := readRow(ctx, x.conn, x.e.read, c.op)
	if err != nil {
		x.broken = true
		return nil, nil, fmt.Errorf("%w (claim: %w)", err, lost.plain())
	}
	if r, err = x.e.hardened(ctx, x.conn, r, c.left()); err != nil {
		r, lost = nil, lostClaim{redacted{err, c.op}}
	}
	return nil, r, lost
}

// await waits, at most for wait, until nobody holds the key's row. Its errors do
// not matter: the claim that follows tells.
func (c *call) await(ctx context.Context, e *engine, wait time.Duration) {
	short, cancel := context.WithTimeout(ctx, max(c.left(), time.Second))
	defer cancel()
	conn, err := c.s.db.Conn(short)
	if err != nil {
		return
	}
	defer conn.Close()
	free, err := e.limited(ctx, conn, wait)
	if err != nil {
		return
	}
	defer free()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return
	}
	defer tx.Rollback()
	var id int64
	_ = tx.QueryRowContext(ctx, e.boundedTx.to(e.await, wait), c.op.Key, c.op.Scope, c.op.Owner).Scan(&id)
}

func (c *call) claim(e *engine, token string, seen *row) (string, []any) {
	op := c.op
	keep := op.Keep.Microseconds()
	switch {
	case seen == nil:
		return e.insert, []any{op.Key, op.Scope, op.Owner, op.Fingerprint, token, keep}
	case seen.free:
		return e.takeover, []any{op.Owner, op.Fingerprint, token, keep, seen.id, op.Key, op.Scope, seen.token}
	}
	return e.recheck, []any{op.Owner, op.Fingerprint, token, keep, seen.id, seen.token}
}

// takePlace waits, holding no connection, for one of the few places that may
// wait in the database.
func (c *call) takePlace(ctx context.Context) (leave func(), err error) {
	leave = func() { <-c.s.wait }
	select {
	case c.s.wait <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(max(c.left(), 0))
	defer timer.Stop()
	select {
	case c.s.wait <- struct{}{}:
		return leave, nil
	case <-timer.C:
		return nil, ErrInProgress
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pause keeps those that met the same deadlock from meeting again, and gives a
// server that went away a moment.
func pause(ctx context.Context, broken int) {
	d := mathrand.N(3 * time.Millisecond)
	if broken > 0 {
		d += 30 * time.Millisecond
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

package nebis

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A session is the transaction of one claim, on a connection of its own.
type session struct {
	s      *Store
	e      *engine
	pre    *prepared
	conn   *sql.Conn
	tx     *sql.Tx
	detach func() bool // stops the caller's context from ending the transaction
	cancel func()      // ends the transaction's context
	id     int64       // of the claimed row; 0: the session remembers it
	armed  bool        // claimed: the session wants disarming
	ended  bool        // committed or rolled back
	closed bool

	committed bool // by the save
	broken    bool // the connection must not go back to the pool
}

// begin waits at most place for a connection (and for the one writer's turn)
// and begins. ErrBusy: there was none in time.
func (s *Store) begin(ctx context.Context, place time.Duration) (*session, error) {
	if s.d == SQLite {
		if err := s.takeWriter(ctx, place); err != nil {
			return nil, err
		}
	}
	x, err := s.beginOn(ctx, place)
	if err != nil && s.d == SQLite {
		s.freeWriter()
	}
	return x, err
}

func (s *Store) beginOn(ctx context.Context, place time.Duration) (*session, error) {
	short, cancel := context.WithTimeout(ctx, place)
	defer cancel()
	x := &session{s: s}
	var err error
	if x.e, x.pre, err = s.ready(short); err == nil {
		x.conn, err = s.db.Conn(short)
	}
	switch {
	case err == nil:
		if err := x.begin(ctx); err != nil {
			return nil, err
		}
		return x, nil
	case ctx.Err() == nil && short.Err() != nil:
		return nil, fmt.Errorf("%w: no free connection: %w", ErrBusy, err)
	}
	return nil, fmt.Errorf("nebis: connect: %w", err)
}

func (x *session) begin(ctx context.Context) (err error) {
	var own context.Context
	own, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
	x.detach = context.AfterFunc(ctx, x.cancel)
	if x.tx, err = x.conn.BeginTx(own, &sql.TxOptions{Isolation: x.s.o.Isolation}); err != nil {
		x.broken = true
		x.closeConn()
		return fmt.Errorf("nebis: begin: %w", err)
	}
	return nil
}

// takeWriter waits for the turn of the one writer; first come, first served.
func (s *Store) takeWriter(ctx context.Context, place time.Duration) error {
	select {
	case s.one <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(place)
	defer timer.Stop()
	select {
	case s.one <- struct{}{}:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: too many writers before this one", ErrBusy)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Store) freeWriter() { <-s.one }

// claim runs a claim statement, on the row seen or for a new one, and reports
// whether it got the row.
func (x *session) claim(ctx context.Context, seen *row, stmt string, args []any, wait time.Duration) (won bool, err error) {
	if most := max(1, seconds(wait)); most < x.e.sessionWait {
		if err := limitWait(ctx, x.tx, most); err != nil {
			return false, err
		}
		defer func() { x.broken = limitWait(ctx, x.tx, x.e.sessionWait) != nil || x.broken }()
	}
	if wait == 0 && stmt == x.e.insert {
		x.id, won, err = x.e.won(ctx, x.tx, x.pre.insert, x.e.first, args)
	} else {
		x.id, won, err = x.e.won(ctx, x.tx, nil, x.e.bounded.to(stmt, wait), args)
	}
	if seen != nil {
		x.id = seen.id
	}
	x.armed = won && x.e.disarm != ""
	if won && x.e.after != "" {
		_, err = exec(x.writing(ctx), x.tx, x.pre.after, x.e.after)
	}
	return won && err == nil, err
}

// limited has lock waits on a connection end within wait, on servers that know
// only the session's limit, until free is called.
func (e *engine) limited(ctx context.Context, conn *sql.Conn, wait time.Duration) (free func(), err error) {
	most := max(1, seconds(wait))
	if most >= e.sessionWait {
		return func() {}, nil
	}
	return func() {
		if limitWait(ctx, conn, e.sessionWait) != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}, limitWait(ctx, conn, most)
}

func limitWait(ctx context.Context, x execer, seconds int) error {
	_, err := x.ExecContext(ctx, fmt.Sprintf(`SET SESSION innodb_lock_wait_timeout = %d`, seconds))
	return err
}

// writing returns the context of a statement after the claim. On SQLite the one
// writer waits for nobody, and some drivers start a goroutine to watch a context
// that can end.
func (x *session) writing(ctx context.Context) context.Context {
	if x.s.d == SQLite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

var errNoRow = errors.New("the claimed row is not there or not this transaction's")

// save stores the answer. On engines that say so it also commits.
func (x *session) save(ctx context.Context, response sql.NullString, op Op, token string) error {
	if op.seen().Valid {
		return x.last(ctx, x.pre.seen, x.e.saveSeen, op, token, x.e.answer(response), op.seen())
	}
	return x.last(ctx, x.pre.save, x.e.save, op, token, x.e.answer(response))
}

// grant gives the claim a lease. On engines that say so it also commits.
func (x *session) grant(ctx context.Context, length time.Duration, op Op, token string) error {
	return x.last(ctx, nil, x.e.grant, op, token, length.Microseconds())
}

// last sends the last statement before the commit, which sets the claimed row.
func (x *session) last(ctx context.Context, stmt *sql.Stmt, text string, op Op, token string, values ...any) error {
	ctx = x.writing(ctx)
	if x.e.before != "" {
		if _, err := exec(ctx, x.tx, x.pre.before, x.e.before); err != nil {
			return err
		}
	}
	res, err := exec(ctx, x.tx, stmt, text, x.e.saving(op, x.id, token, values...)...)
	if err != nil || x.e.saveCommits {
		x.committed = err == nil
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		return errNoRow
	}
	return err
}

// saving returns the arguments of a save or a grant, for one or two values.
func (e *engine) saving(op Op, id int64, token string, values ...any) []any {
	args := make([]any, 0, 6)
	if e.saveByKey {
		return append(append(args, values[0], op.Key, op.Scope, op.Owner, token), values[1:]...)
	}
	return append(append(args, values...), sql.NullInt64{Int64: id, Valid: id != 0}, token)
}

// remembering makes of a save one that also says for how long the key is
// remembered: what others do not use is not in the statement that they send.
func (e *engine) remembering(save string) string {
	return strings.Replace(save, ", updated_at", e.seen+", updated_at", 1)
}

// answer is the answer as an argument.
func (e *engine) answer(response sql.NullString) any {
	if response.Valid && e.hex {
		return hex.EncodeToString([]byte(response.String))
	}
	return response
}

// commit commits. An error means that it may or may not have happened.
func (x *session) commit() error {
	x.ended = true
	err := x.inTime(x.tx.Commit)
	if err != nil {
		x.broken = true
	}
	if x.committed {
		return nil // in the save; this only ended the driver's part
	}
	return err
}

// rollback rolls back. It reports whether the transaction was there to be rolled
// back; where it was not, the connection is given up.
func (x *session) rollback() bool {
	if x.ended {
		return false
	}
	x.ended = true
	err := x.inTime(x.tx.Rollback)
	if err == nil && x.armed {
		ctx, cancel := context.WithTimeout(context.Background(), x.s.o.CommitWait)
		defer cancel()
		_, err = x.conn.ExecContext(ctx, x.e.disarm)
	}
	x.broken = x.broken || err != nil
	return !errors.Is(err, sql.ErrTxDone)
}

// inTime ends the transaction's context if f takes too long: a server that has
// gone silent must not hold the caller for ever.
func (x *session) inTime(f func() error) error {
	timer := time.AfterFunc(x.s.o.CommitWait, x.cancel)
	defer timer.Stop()
	return f()
}

// close rolls back what has not ended and gives the connection back.
func (x *session) close() {
	if x.closed {
		return
	}
	x.closed = true
	x.rollback()
	x.closeConn()
	if x.s.d == SQLite {
		x.s.freeWriter()
	}
}

func (x *session) closeConn() {
	x.detach()
	x.cancel()
	if x.broken {
		_ = x.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	x.conn.Close()
}

// closeEarly is close for a session whose outcome is looked into on another
// connection, which this one, and its turn as the one writer, must not hinder.
func (x *session) closeEarly() {
	x.broken = true
	x.close()
}

package nebis

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// A Resolution is what a person has found out about an outcome that nobody
// knew.
type Resolution struct {
	// Verdict is Happened: the key is done from now on, for as long as it was to be
	// kept at first; or DidNotHappen: it is free, and the next call runs.
	Verdict Verdict

	// Response is the encoded result that is replayed when it has happened. Without
	// one the key is done and its answer not kept.
	Response []byte

	// KeepSeen is that of the operation, see Op.KeepSeen: its row does not have it
	// before it is done. Defaults to the store's.
	KeepSeen time.Duration

	// Reason says how the person knows. It goes into the column error, cut after 500
	// characters, and must not be empty.
	Reason string
}

// Resolve settles a key whose outcome is unknown, in a transaction of the
// caller's, so that a record of who did it commits with it. It counts when the
// caller has committed. The entry is what was there before; nil: nothing.
//
// It acts only on the row that it saw, and gives it another token: a holder that
// was only slow, and saves afterwards, gets ErrLost. It waits for nobody, but
// on MySQL proper for innodb_lock_wait_timeout and on SQLite for busy_timeout.
//
// Errors: [ErrState], when it was not unknown, or is no more; [ErrInProgress], when
// a lease runs or a transaction holds the row; [ErrKey]; [ErrBusy], on SQLite;
// [ErrTxGone], after which the caller has to begin anew. After any other error the
// transaction goes on as it was.
func (s *Store) Resolve(ctx context.Context, tx *sql.Tx, scope, owner, key string, r Resolution) (before *Entry, err error) {
	d := decision{from: StateUnknown, reason: r.Reason}
	switch r.Verdict {
	case Happened:
		d.status, d.text = "done", "resolved as done: "+r.Reason
		d.response = sql.NullString{String: string(r.Response), Valid: r.Response != nil}
	case DidNotHappen:
		d.status, d.text = "failed", "resolved as not done: "+r.Reason
	default:
		return nil, fmt.Errorf("%w: the resolution does not say whether it happened", ErrKey)
	}
	return s.decide(ctx, tx, Op{Scope: scope, Owner: owner, Key: key, KeepSeen: r.KeepSeen}, d)
}

// Release frees a key that is done, on purpose: its answer is forgotten, and the
// next call with it runs. Like [Resolve] it is part of the caller's transaction,
// needs a reason, and has the same errors; ErrState says that it was not done.
func (s *Store) Release(ctx context.Context, tx *sql.Tx, scope, owner, key, reason string) (before *Entry, err error) {
	return s.decide(ctx, tx, Op{Scope: scope, Owner: owner, Key: key},
		decision{from: StateDone, status: "failed", text: "released: " + reason, reason: reason})
}

// A decision is what a person makes of a row.
type decision struct {
	from         State
	status       string // to be
	response     sql.NullString
	reason, text string
}

func (d *decision) check(op Op) error {
	switch {
	case d.reason == "":
		return fmt.Errorf("%w: a reason is missing", ErrKey)
	case d.response.Valid && !json.Valid([]byte(d.response.String)):
		return fmt.Errorf("%w: the response is not JSON", ErrKey)
	case len(d.response.String) > op.MaxResponse:
		return fmt.Errorf("%w: response of %d bytes, more than the %d that are kept", ErrKey, len(d.response.String), op.MaxResponse)
	}
	return nil
}

func (s *Store) decide(ctx context.Context, tx *sql.Tx, op Op, d decision) (*Entry, error) {
	c, err := s.newCall(op)
	if err == nil {
		err = d.check(c.op)
	}
	if err != nil {
		return nil, err
	}
	e, err := s.engine(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTxGone, err)
	}
	g := &guest{call: c, tx: tx, e: e, savepoint: "nebis_" + c.token}
	// Where there is no transaction any more, a savepoint is gone at once.
	for _, q := range []string{`SAVEPOINT `, `ROLLBACK TO SAVEPOINT `} {
		if _, err := tx.ExecContext(ctx, q+g.savepoint); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTxGone, err)
		}
	}
	before, err := g.decide(ctx, d)
	if err == nil {
		if _, err := tx.ExecContext(ctx, `RELEASE SAVEPOINT `+g.savepoint); err != nil {
			return before, fmt.Errorf("%w: %w", ErrTxGone, err)
		}
		return before, nil
	}
	if gone := g.undo(ctx); gone != nil {
		err = fmt.Errorf("%w: %w", ErrTxGone, err)
	}
	return before, err
}

func (g *guest) decide(ctx context.Context, d decision) (*Entry, error) {
	r, before, err := g.lockEntry(ctx)
	switch {
	case err != nil:
		return before, err
	case before.State == StateInProgress:
		return before, fmt.Errorf("%w: its lease runs", ErrInProgress)
	case before.State != d.from:
		return before, fmt.Errorf("%w: it is %s, not %s", ErrState, before.State, d.from)
	}
	keep := before.ExpiresAt.Sub(before.CreatedAt) // as its operation wanted it
	if keep <= 0 {
		keep = g.op.Keep
	}
	g.op.Keep = keep
	if d.status != "done" {
		g.op.KeepSeen = 0 // there is nothing to remember, and nobody has a lease
	}
	res, err := g.tx.ExecContext(ctx, g.e.lease.decide, g.token, d.status, g.e.answer(d.response), g.e.answer(sqltext.Error(d.text)),
		g.op.seen(), keep.Microseconds(), r.id, r.token, r.status)
	if err != nil {
		return before, fmt.Errorf("nebis: resolve: %w", redacted{err, g.op})
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = errNoRow
	}
	return before, err
}

// lockEntry locks the key's row and returns what it says then. An entry without
// a row, and with an error, is as it was seen without the lock.
func (g *guest) lockEntry(ctx context.Context) (*row, *Entry, error) {
	if g.e.takeWriter != "" {
		if _, err := g.tx.ExecContext(ctx, g.e.takeWriter); err != nil {
			return nil, nil, g.heldTooLong(redacted{err, g.op})
		}
	}
	seen, before, err := g.lookEntry(ctx)
	switch {
	case err != nil:
		return nil, nil, g.unread(ctx, err)
	case seen == nil:
		return nil, nil, fmt.Errorf("%w: there is no such key", ErrState)
	case seen.token == "" && before.State == StateInProgress:
		return nil, before, fmt.Errorf("%w: by code that does not use the Store", ErrInProgress)
	case seen.token == "":
		return nil, before, fmt.Errorf("%w: it belongs to code that does not use the Store", ErrState)
	}
	r, now, err := readEntry(ctx, g.tx, g.e.lock, seen.id, seen.token)
	switch {
	case err != nil:
		return nil, before, g.unread(ctx, err)
	case r == nil:
		return nil, before, g.whyNot(ctx, seen)
	}
	return r, now, nil
}

// lookEntry reads the row; at SERIALIZABLE on InnoDB that asks for its lock.
func (g *guest) lookEntry(ctx context.Context) (*row, *Entry, error) {
	return readEntry(ctx, g.tx, g.e.lookTx, g.op.Key, g.op.Scope, g.op.Owner)
}

// unread says why a row could not be read.
func (g *guest) unread(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case conflict(err):
		return fmt.Errorf("%w: a transaction holds its row: %w", ErrInProgress, redacted{err, g.op})
	}
	return redacted{err, g.op}
}

// whyNot says why a row that was seen could not be locked.
func (g *guest) whyNot(ctx context.Context, seen *row) error {
	now, _, err := g.lookEntry(ctx)
	switch {
	case err != nil:
		return g.unread(ctx, err)
	case now != nil && now.token == seen.token:
		return fmt.Errorf("%w: a transaction holds its row", ErrInProgress)
	}
	return fmt.Errorf("%w: somebody else has changed it meanwhile; look again", ErrState)
}

// conflict reports whether a statement failed for somebody else's lock or
// change. One that is not known here is told as it is.
func conflict(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch state.SQLState() {
		case "40001", "40P01", "55P03":
			return true
		}
	}
	return lockLost.MatchString(err.Error())
}

// MySQL and MariaDB: a changed row, a wait that was too long, a deadlock.
var lockLost = regexp.MustCompile(`\bError (1020|1205|1213)\b`)

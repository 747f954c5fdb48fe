package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// State is what became of a key, as far as the table tells.
type State string

// The states. Who asks for a key that is free or has expired runs it.
const (
	StateInProgress State = "in progress" // a lease runs; or old code's, not done yet
	StateDone       State = "done"
	StateFree       State = "free" // by NotDone, or by a person
	StateUnknown    State = "unknown"
	StateExpired    State = "expired"
)

// An Entry is what the table says of a key. Times are the database's, in UTC;
// one that the table does not have is zero.
type Entry struct {
	State    State
	Response []byte // the encoded result; nil: none is kept, or it is old code's
	Attempts int    // how often it was claimed, since it last was new
	Error    string // of the last attempt, or what a person has said of it

	CreatedAt, UpdatedAt, ExpiresAt time.Time

	LeaseUntil time.Time // of one that is not done
	SeenUntil  time.Time // of one that is done and remembered for longer than its answer (Op.KeepSeen)
}

// Look returns what the table says of a key, or nil when there is nothing. It
// is a plain read that waits for nobody: of a Do that runs it sees nothing, or
// what was there before it; and what it sees done may, for a moment, not be on
// disk yet. ErrKey: the scope, the owner or the key is malformed.
func (s *Store) Look(ctx context.Context, scope, owner, key string) (*Entry, error) {
	op, err := Op{Scope: scope, Owner: owner, Key: key}.checked()
	if err != nil {
		return nil, err
	}
	e, err := s.engine(ctx, s.db)
	if err != nil {
		return nil, err
	}
	_, entry, err := readEntry(ctx, s.db, e.look, op.Key, op.Scope, op.Owner)
	return entry, err
}

// readEntry returns a row as the Store sees it and as it is told, or nil.
func readEntry(ctx context.Context, q querier, stmt string, args ...any) (*row, *Entry, error) {
	e := new(Entry)
	var text sql.NullString
	var created, updated, expires, lease sql.NullInt64
	r, err := scanRow(q.QueryRowContext(ctx, stmt, args...), &e.Attempts, &text, &created, &updated, &expires, &lease)
	if r == nil || err != nil {
		return nil, nil, err
	}
	e.State, e.Error = r.state(), text.String
	e.CreatedAt, e.UpdatedAt, e.ExpiresAt = micros(created), micros(updated), micros(expires)
	switch until := micros(lease); {
	case r.status != "done":
		e.LeaseUntil = until
	case !e.ExpiresAt.IsZero() && !until.Before(e.ExpiresAt):
		e.SeenUntil = until
	}
	if r.token != "" && r.response.Valid {
		e.Response = []byte(r.response.String)
	}
	return r, e, nil
}

func (r *row) state() State {
	switch {
	case r.status == "failed":
		return StateFree
	case r.free:
		return StateExpired
	case r.status == "done":
		return StateDone
	case r.lease == 1 || r.token == "":
		return StateInProgress
	}
	return StateUnknown
}

func micros(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

// lookSQL makes, of the statement that reads a row by its key, one that does not
// look for old code's, one that tells more, and one that reads the same by id and
// token and ends in more. text is the column error, count has a %s for the column
// whose time it counts in microseconds.
func (e *engine) lookSQL(text, count, more string) {
	before, after, _ := strings.Cut(e.read, "(owner = ")
	parameter, _, _ := strings.Cut(after, " OR ")
	e.own = before + "owner = " + parameter
	columns, from, _ := strings.Cut(e.read, "\nFROM ")
	table, _, _ := strings.Cut(from, " WHERE ")
	columns += ",\n  attempts, " + text
	for _, c := range []string{"created_at", "updated_at", "expires_at", "lease_until"} {
		columns += ", " + fmt.Sprintf(count, c)
	}
	columns += "\nFROM "
	e.look = columns + from
	e.lookTx, e.lock = e.look, columns+table+" WHERE id = ? AND token = ?"+more
}

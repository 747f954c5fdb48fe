package outbox

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/nebis-dev/nebis"
)

// ErrCall is the error that the name was not given to Handle, or the payload
// cannot be kept; nothing was sent to the database.
var ErrCall = errors.New("outbox: malformed call")

// Add adds a call in the caller's transaction and returns its id. If the
// transaction commits the call is made, at once where a Run of this Outbox is
// under way; if it does not, there was no call. The payload is encoded as JSON
// ([json.RawMessage] is taken as it is), up to Options.MaxPayload.
//
// Errors: [ErrCall]; the database's, after which the caller rolls back.
func (o *Outbox) Add(ctx context.Context, tx *sql.Tx, name string, payload any) (int64, error) {
	c, known := o.call(name)
	if !known {
		return 0, fmt.Errorf("%w: %q was not given to Handle", ErrCall, name)
	}
	raw, err := json.Marshal(payload)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: payload of %s: %w", ErrCall, name, err)
	case len(raw) > o.o.MaxPayload:
		return 0, fmt.Errorf("%w: payload of %s has %d bytes, more than the %d that are kept", ErrCall, name, len(raw), o.o.MaxPayload)
	case !utf8.Valid(raw):
		return 0, fmt.Errorf("%w: payload of %s is not UTF-8", ErrCall, name)
	}
	id, err := o.insert(ctx, tx, name, newKey(c.KeyLength), string(raw))
	if err != nil {
		return 0, fmt.Errorf("outbox: add %s: %w", name, err)
	}
	o.hints.added(id)
	return id, nil
}

func (o *Outbox) insert(ctx context.Context, tx *sql.Tx, name, key, payload string) (id int64, err error) {
	args := []any{name, key, o.sql.argument(sql.NullString{String: payload, Valid: true})}
	if o.d == nebis.Postgres {
		err = tx.QueryRowContext(ctx, o.q.add+` RETURNING id`, args...).Scan(&id)
		return id, err
	}
	res, err := tx.ExecContext(ctx, o.q.add, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// newKey returns a random key of that length, or "" where there is no such shape.
func newKey(length int) string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	switch length {
	case 64:
		return hex.EncodeToString(b)
	case 32:
		return hex.EncodeToString(b[:16])
	case 36: // a UUID of version 4
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
	}
	return ""
}

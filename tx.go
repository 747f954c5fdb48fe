package nebis

import (
	"context"
	"database/sql"
	"fmt"
)

// Tx runs fn in a plain transaction, without a key and without memory, for
// writes that came without a key. It begins like Do (the same isolation, the
// same turn on SQLite, the same Conn), rolls back when fn returns an error,
// panics or exits, and returns fn's error as it is.
//
// ErrBusy: there was no connection in time; nothing happened. ErrUnknown: the
// commit failed, and without a key nobody can tell what became of it.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	for h := holder(ctx); h != nil; h = h.parent {
		if h.s == s && s.d == SQLite && h.conn != nil {
			return errNestedWriter
		}
	}
	x, err := s.begin(ctx, s.o.CommitWait)
	if err != nil {
		return err
	}
	defer x.close()
	held := &held{s: s, conn: x.conn, parent: holder(ctx)}
	if err := fn(context.WithValue(ctx, heldKey{}, held), x.tx); err != nil {
		return err
	}
	if !x.detach() {
		return context.Cause(ctx)
	}
	if err := x.commit(); err != nil {
		return fmt.Errorf("%w: commit: %w", ErrUnknown, err)
	}
	return nil
}

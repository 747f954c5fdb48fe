package suite

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/nebis-dev/nebis"
)

// Case 32. The work of a lease is done, and its answer cannot be saved: nobody is told
// of a success, and it never runs again on that account, not even after the lease.
func TestALeaseWhoseAnswerCannotBeSavedIsUnknown(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sql.DB, s *nebis.Store) {
		run := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		op := nebis.Op{Scope: "order", Owner: "o", Key: "k"}
		times := 0
		buy := func(context.Context) (int, error) {
			times++
			run("ALTER TABLE idempotency RENAME TO away")
			return times, nil
		}
		if _, _, err := nebis.Lease(t.Context(), s, op, nil, buy); !errors.Is(err, nebis.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		run("ALTER TABLE away RENAME TO idempotency")
		run("UPDATE idempotency SET lease_until = '2001-01-01 00:00:00' WHERE idem_key = 'k'")
		if _, _, err := nebis.Lease(t.Context(), s, op, nil, buy); !errors.Is(err, nebis.ErrUnknown) || times != 1 {
			t.Errorf("again: ran %d times in all, error %v", times, err)
		}
	})
}

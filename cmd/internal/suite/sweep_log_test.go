package suite

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// With a binary log of statements InnoDB refuses writes below REPEATABLE READ: there
// clean-up does what it does elsewhere, also beside claims, and rows of old code get
// their expiry.
func TestCleanUpWithALogOfStatements(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			c = c.On(dbtest.Private(t, c.Kind, &dbtest.Options{Fast: true, Statements: true}))
			db := c.Open(t)
			createTables(t, db, c)
			change(t, db, `INSERT INTO idempotency (idem_key, scope, status) VALUES ('old', 'order', 'done')`)
			s, err := nebis.New(db, c.Dialect, &nebis.Options{KeepSeen: 48 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				claimTwice(t, s, fmt.Sprint(i))
			}
			change(t, db, `UPDATE idempotency SET expires_at = '2001-01-01' WHERE token IS NOT NULL`)
			change(t, db, `UPDATE idempotency SET lease_until = NULL WHERE idem_key < '3'`)
			if n, err := s.Purge(t.Context(), 5); n != 5 || err != nil {
				t.Errorf("Purge removed %d, error %v", n, err)
			}
			_, _, err = nebis.Do(t.Context(), s, nebis.Op{Scope: "order", Owner: "u", Key: "new"}, func(ctx context.Context, _ *sql.Tx) (int, error) {
				done, err := s.Sweep(ctx, nil)
				if done.Rows+done.Answers != 25 || done.Answers == 0 {
					t.Errorf("done %+v", done)
				}
				return 1, err
			})
			if err != nil {
				t.Error(err)
			}
			var old int
			if err := db.QueryRow(`SELECT COUNT(*) FROM idempotency WHERE expires_at > UTC_TIMESTAMP() AND token IS NULL`).Scan(&old); err != nil || old != 1 {
				t.Errorf("%d rows of old code have an expiry, error %v", old, err)
			}
		})
	}
}

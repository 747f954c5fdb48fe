package suite

import (
	"context"
	"errors"
	"testing"

	"github.com/nebis-dev/nebis"
)

// A DoTx waits for a key whose holder then waits for a row of DoTx's own transaction.
// PostgreSQL breaks the circle at DoTx's claim, and its savepoint saves the
// transaction: but a second claim would only close the circle again. The holder looks
// for a deadlock too late to be of help.
func TestADeadlockOverAKeyEndsDoTxAtOnce(t *testing.T) {
	for _, name := range []string{"postgres-pgx", "postgres-pq"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			ctx := t.Context()
			exec := func(q string) {
				t.Helper()
				_, err := db.ExecContext(ctx, q)
				must(t, err)
			}
			exec("INSERT INTO o VALUES (1)")
			holder, err := db.BeginTx(ctx, nil)
			must(t, err)
			defer holder.Rollback()
			other, err := db.BeginTx(ctx, nil)
			must(t, err)
			defer other.Rollback()
			_, err = holder.ExecContext(ctx, "SET LOCAL deadlock_timeout = '1h'")
			must(t, err)
			op := nebis.Op{Scope: "s", Owner: "o", Key: "k"}
			one := func(context.Context) (int, error) { return 1, nil }
			_, _, err = nebis.DoTx(ctx, s, holder, op, one)
			must(t, err)
			_, err = other.ExecContext(ctx, "UPDATE o SET n = 2")
			must(t, err)

			ended := make(chan error, 1)
			go func() {
				_, _, err := nebis.DoTx(ctx, s, other, op, one)
				_ = other.Rollback()
				ended <- err
			}()
			for waiting := 0; waiting == 0; {
				must(t, db.QueryRowContext(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
			}
			if _, err := holder.ExecContext(ctx, "UPDATE o SET n = 3"); err != nil {
				t.Errorf("the holder of the key: %v", err)
			}
			if lost := <-ended; !errors.Is(lost, nebis.ErrTxGone) {
				t.Errorf("the one that lost the deadlock was told %v", lost)
			}
		})
	}
}

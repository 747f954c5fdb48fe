package suite

import (
	"context"
	"database/sql"
	"testing"

	"github.com/nebis-dev/nebis"
)

// A retry in the process that has seen its key done claims nothing. A claim
// that fails would use an id up.
func TestARetryInTheSameProcessIsARead(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			do := func(key string, want bool) {
				t.Helper()
				op := nebis.Op{Scope: "s", Owner: "o", Key: key}
				_, replayed, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 7, nil })
				if replayed != want || err != nil {
					t.Fatal(replayed, err)
				}
			}
			do("first", false)
			for range 3 {
				do("first", true)
			}
			do("second", false)
			var id int
			if err := db.QueryRow("SELECT MAX(id) FROM idempotency").Scan(&id); err != nil || id != 2 {
				t.Errorf("the second key's row is %d, %v", id, err)
			}
		})
	}
}

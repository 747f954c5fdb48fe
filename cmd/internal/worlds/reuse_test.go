package worlds

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Between the look at an expired row and its takeover, the row is purged and
// another key, which has expired as well, gets its id: SQLite gives ids again.
func TestATakeoverLeavesTheRowOfAnotherKeyAlone(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		dsn := c.Fresh(t)
		direct := connect(t, c, [2]string{dsn, dsn}, nil)
		expired := func(key string) nebis.Op {
			op := nebis.Op{Scope: "order", Owner: "u1", Key: key}
			wantAnswer(t, direct.stores[0], op, key)
			_, err := direct.dbs[0].Exec("UPDATE idempotency SET expires_at = '2001-01-01 00:00:00'")
			must(t, err)
			return op
		}
		mine := expired("mine")
		taking := 0
		db := sql.OpenDB(watch(connector(t, c.Driver, dsn), func(query string, args []driver.NamedValue) {
			if !strings.Contains(query, "SET owner") {
				return
			}
			if taking++; taking == 1 {
				_, err := direct.stores[0].Purge(t.Context(), 10)
				must(t, err)
				expired("other")
			}
		}))
		defer db.Close()
		s, err := nebis.New(db, c.Dialect, &nebis.Options{Unprepared: true})
		must(t, err)
		wantAnswer(t, s, mine, "mine")
		if taking == 0 {
			t.Error("no takeover was seen")
		}
		wantAnswer(t, direct.stores[1], nebis.Op{Scope: "order", Owner: "u1", Key: "mine"}, "mine")
		wantAnswer(t, direct.stores[1], nebis.Op{Scope: "order", Owner: "u1", Key: "other"}, "other")
	})
}

// wantAnswer does an operation that answers want.
func wantAnswer(t *testing.T, s *nebis.Store, op nebis.Op, want string) {
	t.Helper()
	got, _, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (string, error) { return want, nil })
	if got != want || err != nil {
		t.Errorf("key %s: answer %q, error %v", op.Key, got, err)
	}
}

package suite

import (
	"context"
	"database/sql"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// On MySQL and MariaDB the time in a statement is that of its beginning, which may
// be before the last change of the row that it comes to. An expired key is free to
// such a statement too, and not remembered beyond its answer.
func TestAStatementThatBeganBeforeTheRowsLastChange(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		for _, way := range []struct {
			name string
			done func(*testing.T, *sql.DB, *nebis.Store, nebis.Op)
		}{{"a lease ends", leased}, {"a replay makes it durable", hardened}} {
			t.Run(name+"/"+way.name, func(t *testing.T) {
				c := dbtest.Lookup(name)
				dsn := c.Fresh(t)
				db := c.Pool(t, dsn)
				createTables(t, db, c)
				s := storeOf(t, db)
				op := nebis.Op{Scope: "order", Owner: "u", Key: "k"}
				way.done(t, db, s, op)
				change(t, db, `UPDATE idempotency SET created_at = UTC_TIMESTAMP(6) - INTERVAL 2 HOUR, expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, updated_at = updated_at`)
				late := c.Pool(t, dsn)
				late.SetMaxOpenConns(1)
				s = storeOf(t, late)
				change(t, late, `SET timestamp = UNIX_TIMESTAMP() - 600`)
				_, replayed, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 2, nil })
				if replayed || err != nil {
					t.Errorf("replayed %t, error %v", replayed, err)
				}
			})
		}
	}
}

func storeOf(t *testing.T, db *sql.DB) *nebis.Store {
	t.Helper()
	s, err := nebis.New(db, nebis.MySQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func leased(t *testing.T, _ *sql.DB, s *nebis.Store, op nebis.Op) {
	_, _, err := nebis.Lease(t.Context(), s, op, nil, func(context.Context) (int, error) { return 1, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func hardened(t *testing.T, db *sql.DB, s *nebis.Store, op nebis.Op) {
	for range 2 {
		_, _, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 1, nil })
		if err != nil {
			t.Fatal(err)
		}
		change(t, db, `UPDATE idempotency SET created_at = UTC_TIMESTAMP(6) - INTERVAL 2 HOUR, updated_at = updated_at`)
	}
	var marked bool
	if err := db.QueryRow(`SELECT lease_until IS NOT NULL FROM idempotency`).Scan(&marked); err != nil || !marked {
		t.Fatalf("the replay wrote nothing: %v", err)
	}
}

func change(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

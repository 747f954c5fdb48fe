package stuck

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestAStatementIsShownWithoutItsValues(t *testing.T) {
	all := []nebis.Dialect{nebis.MySQL, nebis.Postgres, nebis.SQLite}
	standard := all[1:]
	for _, c := range []struct {
		query, want string
		on          []nebis.Dialect
	}{
		{`INSERT INTO t (a) VALUES ('it''s', 12, 0xAB, 1.5e3)`, `INSERT INTO t (a) VALUES (?, ?, ?, ?)`, all},
		{`UPDATE t SET a = 'cut in the middl`, `UPDATE t SET a = ?`, all},
		{`SELECT t1.c2, '' -- secret`, `SELECT t1.c2, ?`, all},
		{"SELECT a /* user 7 */\n  FROM t /* /* twice */ secret */ WHERE b = 7", `SELECT a WHERE b = ?`, all},
		{"SELECT *\n  FROM \"orders\" WHERE k = \"a-b\"", `SELECT * FROM "orders" WHERE k = ?`, standard},
		{`SELECT 'C:\', 'secret'`, `SELECT ?, ?`, all[2:]},
		{`SELECT 'C:\', secret, 'secret'`, `SELECT ?`, all[:2]},
		{`SELECT 'a\'secret', 'b'`, `SELECT ?`, all[:2]},
		{`SELECT "C:\", secret, "secret"`, `SELECT ?`, all[:1]},
		{`SELECT 'C:\\', 'it''s', 1`, `SELECT ?, ?, ?`, all},
		{`SELECT "Ann", "a\nb", 'C:\\', x'AB' # secret`, `SELECT ?, ?, ?, x?`, all[:1]},
		{"SELECT `it's`, `c2` FROM `t`", "SELECT `it's`, `c2` FROM `t`", all[:1]},
		{`SELECT 'cut after a backslash \`, `SELECT ?`, all},
		{`SELECT E'a\'secret', e'\\', $1, $12, '$1'`, `SELECT ?, ?, $1, $12, ?`, all[1:2]},
		{`SELECT 0b1011, 0o4711, 1_000_4711, 0x5E_C4, 4711.e5, 47_1.1_1e-7`, `SELECT ?, ?, ?, ?, ?, ?`, all},
		{`SELECT $😀$secret$😀$`, `SELECT ?`, all[1:2]},
		{"SELECT [it's], `it's`, 'secret', secret FROM t", "SELECT [it's], `it's`, ?, secret FROM t", all[2:]},
		{`SELECT $x1$secret$x1$`, `SELECT ?`, all[1:2]},
		{`SELECT $$secret$$`, `SELECT ?`, all[1:2]},
	} {
		for _, d := range c.on {
			if got := Shape(d, c.query); got != c.want {
				t.Errorf("%v, %q: %q, wanted %q", d, c.query, got, c.want)
			}
		}
	}
}

// What the server tells of a statement is stripped before it is shown. MySQL tells
// only of one that runs, so it waits for a lock of ours.
func TestAnOpenTransactionIsShownWithoutTheValuesOfItsStatement(t *testing.T) {
	mysql := `SELECT GET_LOCK('%s', 600), 'O''Hara secret1', 'a\'secret2', "say \"secret3\" now", 4711001, 0x5EC4E7, 1.5e3 /* secret4 */ # secret5`
	for name, statement := range map[string]string{
		"mariadb": mysql, "mysql56": mysql,
		"postgres-pgx": `SELECT 'O''Hara secret1', E'a\'secret2', 4711001, 'C:\', 'secret4', 1.5e3 /* secret5 /* */ secret6 */, $x1$ secret3 $$ $x1$ -- secret7`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeld(t, dbtest.Lookup(name))
			if h.c.Dialect == nebis.MySQL {
				lock := h.lock()
				statement = fmt.Sprintf(statement, lock)
			}
			h.running(statement, func() {
				for shown := false; !shown; {
					for _, x := range h.until().Held {
						shown = shown || strings.HasPrefix(x.Query, "SELECT ")
						for _, value := range []string{"secret", "Hara", "4711", "5EC4E7", "1.5"} {
							if strings.Contains(x.String(), value) {
								t.Fatalf("%s is in %s", value, x)
							}
						}
					}
				}
			})
		})
	}
}

// lock takes a lock of the server's until its connection is closed, at the latest at
// the end of the test.
func (h *held) lock() (name string) {
	h.Helper()
	conn, err := h.db.Conn(context.Background())
	if err != nil {
		h.Fatal(err)
	}
	if err := conn.QueryRowContext(context.Background(), "SELECT DATABASE()").Scan(&name); err != nil {
		h.Fatal(err)
	}
	var got int
	if err := conn.QueryRowContext(context.Background(), "SELECT GET_LOCK(?, 0)", name).Scan(&got); err != nil || got != 1 {
		h.Fatal(got, err)
	}
	h.Cleanup(func() { conn.Close() })
	h.free = func() {
		if _, err := conn.ExecContext(context.Background(), "DO RELEASE_LOCK('"+name+"')"); err != nil {
			h.Error(err)
		}
	}
	return name
}

// running does an operation that runs a statement, and looks meanwhile, or after it.
func (h *held) running(statement string, look func()) {
	h.Helper()
	inside, seen, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, _, err := nebis.Do(context.Background(), h.store(), nebis.Op{Scope: "order", Owner: "ann", Key: "k"}, func(ctx context.Context, tx *sql.Tx) (int, error) {
			close(inside)
			_, err := tx.ExecContext(ctx, statement)
			<-seen
			return 1, err
		})
		ended <- err
	}()
	defer func() {
		close(seen)
		if h.free != nil {
			h.free()
		}
		if err := <-ended; err != nil {
			h.Error(err)
		}
	}()
	<-inside
	look()
}

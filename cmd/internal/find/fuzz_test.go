package find

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
)

// What passes as a condition changes nothing, even where the database would let
// it write.
func FuzzWhere(f *testing.F) {
	for _, where := range []string{
		"id = 1", "item = 'it''s' AND (id IN (SELECT MIN(id) FROM orders))", `"id" > 0 OR [id] > 0`, "1=1); DELETE FROM orders; --", "REPLACE(item, 'a', 'b') = 'x'",
		"1 IN (DELETE FROM orders RETURNING id)", "item = 'x\\' OR 1", "id = 1 /* x", "`id` = 1\n-- x", "(", "'", "\x00", "订 = 1",
	} {
		f.Add(where)
	}
	target, err := dburl.Parse("sqlite:" + filepath.Join(f.TempDir(), "shop.db"))
	if err != nil {
		f.Fatal(err)
	}
	db, err := target.Open()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT); INSERT INTO orders VALUES (1, 'tea'), (2, 'cup')"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, where string) {
		for _, d := range []nebis.Dialect{nebis.MySQL, nebis.Postgres} {
			_ = checkWhere(where, d)
		}
		if checkWhere(where, nebis.SQLite) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = db.ExecContext(ctx, "SELECT id FROM orders WHERE ("+where+"\n)") // many are no SQL
		var sum int
		if err := db.QueryRow("SELECT SUM(id) FROM orders").Scan(&sum); err != nil || sum != 3 {
			t.Fatalf("%q changed the table: %d, %v", where, sum, err)
		}
	})
}

// A value that is taken for a time lies where times can lie, and is read alike
// the second time.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-03-01 12:00:00.5", "1772366400.123", "1772366400123", "1.7723664e+09", "0000-00-00", "-5", "20260301120000", "2026-10-25 02:30:00", "1e999", "0x1p9"} {
		f.Add(s)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first := timer{loc: berlin}
		at, ok := first.parse(s)
		second := timer{loc: berlin}
		if again, same := second.parse(s); again != at || same != ok || ok && at < earliest {
			t.Errorf("%q is %d, %v, then %d, %v", s, at, ok, again, same)
		}
	})
}

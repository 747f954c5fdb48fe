package find

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// The words of --where are checked before; this is what holds when they were
// not enough.
func TestTheDatabaseItselfKeepsAReadFromWriting(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		target, err := dburl.Parse(dbURL)
		if err != nil {
			t.Fatal(err)
		}
		writer, err := target.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		if _, err := writer.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, created_at INTEGER)"); err != nil {
			t.Fatal(err)
		}
		db, err := open(target)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f := &finder{db: db}
		for _, write := range []string{"INSERT INTO orders VALUES (1, 1)", "DELETE FROM orders"} {
			err := f.readOnly(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec(write)
				return err
			})
			if err == nil || !strings.Contains(explain(err).Error(), "tries to write") {
				t.Errorf("%s: %v", write, err)
			}
		}
	})
}

// A function that writes looks like a condition.
func TestAFunctionThatWritesIsRefusedByTheDatabase(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		target, err := dburl.Parse(dbURL)
		if err != nil {
			t.Fatal(err)
		}
		if target.Dialect == nebis.SQLite {
			t.Skip("its functions cannot write")
		}
		writer, err := target.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		function := "CREATE FUNCTION act() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO acts VALUES (1); RETURN 1; END"
		if target.Dialect == nebis.Postgres {
			function = "CREATE FUNCTION act() RETURNS INT LANGUAGE SQL AS 'INSERT INTO acts VALUES (1) RETURNING 1'"
		}
		for _, q := range []string{
			"CREATE TABLE acts (n INTEGER)", "CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, created_at INTEGER)",
			"INSERT INTO orders VALUES (1, 1, 1772366400)", function,
		} {
			if _, err := writer.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		_, err = Run(t.Context(), target, &Options{Table: "orders", Where: "act() = 1"})
		if err == nil || !strings.Contains(err.Error(), "--where tries to write") {
			t.Errorf("%v", err)
		}
		var n int
		if err := writer.QueryRow("SELECT COUNT(*) FROM acts").Scan(&n); err != nil || n != 0 {
			t.Errorf("it wrote %d times, %v", n, err)
		}
	})
}

package find

import (
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"

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
		db, err := Open(target)
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

// A function that writes looks like a condition, and a view may hide one.
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
			"INSERT INTO orders VALUES (1, 1, 1772366400)", function, "CREATE VIEW acting AS SELECT * FROM orders WHERE act() = 1",
		} {
			if _, err := writer.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		_, err = Run(t.Context(), target, &Options{Table: "orders", Where: "act() = 1"})
		if err == nil || !strings.Contains(err.Error(), "calls act()") {
			t.Errorf("%v", err)
		}
		_, err = Run(t.Context(), target, &Options{Table: "acting"})
		says := "the view, tries to write"
		if target.Dialect == nebis.MySQL {
			says = "is a view that does not work or writes" // its catalogue looks into the view
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v", err)
		}
		var n int
		if err := writer.QueryRow("SELECT COUNT(*) FROM acts").Scan(&n); err != nil || n != 0 {
			t.Errorf("it wrote %d times, %v", n, err)
		}
	})
}

// A range that was measured and then grew is read whole.
func TestRowsThatComeIntoARangeMeanwhileAreRead(t *testing.T) {
	target, err := dburl.Parse(dburltest.SQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	writer, err := target.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	exec := func(query string) {
		if _, err := writer.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, created_at INTEGER)")
	exec("INSERT INTO orders VALUES (1, 1, 1772366400), (3, 1, 1772366401), (5, 1, 1772366402)")
	f := &finder{opts: Options{Table: "orders", Where: "id > 0", Page: 2}, sql: sqliteDialect{}}
	f.opts.defaults(nebis.SQLite)
	if f.db, err = Open(target); err != nil {
		t.Fatal(err)
	}
	defer f.db.Close()
	if err := f.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	order := readOrder{columns: f.table.page}
	s := &search{finder: f, order: order, seed: maphash.MakeSeed(), timer: timer{loc: time.UTC}, tracker: newTracker(Window, false, f.result)}
	s.values = make([]sql.RawBytes, len(s.selected(order)))
	to, err := s.bound(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO orders VALUES (2, 1, 1772366400)")
	if more, err := s.readPage(t.Context(), to); err != nil || !more || s.rows != 3 {
		t.Errorf("%d rows up to %q, more %v, %v", s.rows, to, more, err)
	}
}

func TestPartitionsAreAddedUp(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) {
		target, err := dburl.Parse(dbURL)
		if err != nil {
			t.Fatal(err)
		}
		if target.Dialect != nebis.Postgres {
			t.Skip("the others have no estimate for each partition")
		}
		writer, err := target.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		for _, q := range []string{
			"CREATE TABLE orders (id INT, user_id INT, created_at TIMESTAMP, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
			"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (0) TO (1000)", "CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM (1000) TO (2000)",
			"INSERT INTO orders SELECT n, n / 2, TIMESTAMP '2026-03-01' + n * INTERVAL '1 second' FROM generate_series(100, 1499) AS g(n)",
			"ANALYZE orders_1", "ANALYZE orders_2",
			"CREATE TABLE fresh (id INT PRIMARY KEY, user_id INT, created_at TIMESTAMP)", "INSERT INTO fresh SELECT * FROM orders",
			"CREATE VIEW v AS SELECT * FROM orders",
		} {
			if _, err := writer.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		for _, analyse := range []string{"SELECT 1", "ANALYZE orders"} {
			if _, err := writer.Exec(analyse); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]func(int) bool{
				"orders": func(n int) bool { return n == 1400 }, "orders_1": func(n int) bool { return n == 900 },
				"fresh": func(n int) bool { return n > 300 && n < 5000 }, "v": func(n int) bool { return n == 0 },
			} {
				r := 0
				result, err := Run(t.Context(), target, &Options{Table: name, At: "created_at", Same: []string{"user_id"}, Page: 100, Progress: func(_, of int) { r = of }})
				if err != nil || !want(r) || name == "orders" && result.Groups != 700 {
					t.Errorf("%s: an estimate of %d rows, %+v, %v", name, r, result, err)
				}
			}
		}
	})
}

// The bound is on what is remembered at once, not on the table.
func TestRowsThatAreHeldAreBounded(t *testing.T) {
	for _, hold := range []bool{false, true} {
		r := &Result{location: time.UTC}
		tr := newTracker(Window, hold, r)
		tr.most = 4 * keepRows
		var err error
		n := 0
		for ; n < 3*tr.most && err == nil; n++ {
			err = tr.add(uint64(n), row{at: int64(n) * 1e6})
		}
		if hold && (!errors.Is(err, ErrTooMany) || n != tr.most+1) || !hold && err != nil {
			t.Errorf("hold %v: %v after %d rows", hold, err, n)
		}
	}
}

func TestTheRestIsThreeTimesTheRead(t *testing.T) {
	for pause, want := range map[time.Duration]time.Duration{-1: 3 * time.Second, 0: 0, time.Minute: time.Minute} {
		if got := (&Options{Pause: pause}).rest(time.Second); got != want {
			t.Errorf("with a pause of %s it rests %s, want %s", pause, got, want)
		}
	}
}

func TestANameInAnotherCaseMustBeTheOnlyOne(t *testing.T) {
	all := []string{"Orders", "ORDERS", "Users"}
	for name, want := range map[string]int{"Orders": 0, "ORDERS": 1, "orders": -1, "users": 2, "order": -1} {
		if i, ok := match(name, all); ok != (want >= 0) || ok && i != want {
			t.Errorf("%s is number %d, %v", name, i, ok)
		}
	}
}

func TestWhatTheDatabaseMakesIsNotProposed(t *testing.T) {
	tab := &table{columns: []column{{name: "n", typ: "integer", auto: true}, {name: "double", typ: "integer", generated: true}, {name: "user_id", typ: "uuid"}, {name: "mark", typ: "uuid"}, {name: "at", typ: "timestamp"}}}
	same, left := proposeSame(tab, tab.columns[4])
	if got := fmt.Sprint(names(same), left); got != "[user_id] [n double mark]" {
		t.Errorf("it takes and leaves %s", got)
	}
}

package find_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/find"
)

// Names as programs in Java and JavaScript give them, and keys that are no numbers.
func TestCamelCaseAndUUIDs(t *testing.T) {
	everywhere(t, func(s *shop) {
		uuid := "VARCHAR(36)"
		if s.target.Dialect == nebis.Postgres {
			uuid = "UUID"
		}
		q := s.quote
		s.exec("CREATE TABLE orders (" + q("id") + " " + uuid + " PRIMARY KEY, " + q("userId") + " " + uuid + ", " + q("idempotencyToken") + " " + uuid + ", " +
			q("orderNo") + " VARCHAR(40), " + q("orderSN") + " VARCHAR(40), amount INTEGER, " + q("updatedAt") + " VARCHAR(40), " + q("paidTime") + " VARCHAR(40), " + q("createdAt") + " BIGINT)")
		for i, user := range []int{1, 2, 1} {
			id := func(n int) string { return fmt.Sprintf("'00000000-0000-0000-0000-%012d'", n) }
			s.exec(fmt.Sprintf("INSERT INTO orders VALUES (%s, %s, %s, 'n%d', 's%d', 5, 'u%d', 'p%d', %d)", id(10-i), id(user), id(20+i), i, i, i, i, noon.Unix()+int64(i)))
		}
		r := s.find(find.Options{Full: true})
		s.wants(r, 1, 1)
		if got := fmt.Sprintf("%v %v %v", r.Same, r.LeftOut, r.At); got != "[userId amount] [id idempotencyToken orderNo orderSN updatedAt paidTime] createdAt" {
			s.t.Errorf("it took, left, and went by %s", got)
		}
	})
}

func TestColumnsOfEveryTypeCanBeCompared(t *testing.T) {
	types := map[nebis.Dialect][]string{
		nebis.MySQL:    {"DECIMAL(10,2)", "ENUM('1','2')", "VARBINARY(8)", "BLOB", "CHAR(9)", "BIT(8)", "DATE", "DOUBLE"},
		nebis.Postgres: {"NUMERIC", "JSON", "JSONB", "BYTEA", "CHAR(9)", "BOOL", "DATE", "INT[]", "MONEY", "INTERVAL", "UUID"},
		nebis.SQLite:   {"DECIMAL(10,2)", "JSON", "BLOB", "", "BOOLEAN"},
	}
	values := map[string][2]string{
		"BOOL": {"TRUE", "FALSE"}, "DATE": {"'2026-03-01'", "'2026-03-02'"}, "INT[]": {"'{1,2}'", "'{1,3}'"}, "INTERVAL": {"'1 s'", "'2 s'"},
		"UUID": {"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"}, "BLOB": {"x'00ff'", "x'00fe'"}, "BIT(8)": {"1", "2"},
	}
	everywhere(t, func(s *shop) {
		for i, typ := range types[s.target.Dialect] {
			v, ok := values[typ]
			if !ok {
				v = [2]string{"'1'", "'2'"}
			}
			table := fmt.Sprint("orders", i)
			s.exec("CREATE TABLE " + table + " (id " + s.id() + ", v " + typ + ", add_time INTEGER)")
			for n, one := range []string{v[0], v[1], v[0], "NULL", "NULL"} {
				s.exec(fmt.Sprintf("INSERT INTO %s (v, add_time) VALUES (%s, %d)", table, one, noon.Unix()+int64(n)))
			}
			r := s.find(find.Options{Table: table, Same: []string{"v"}, Full: true})
			if s.wants(r, 2, 2); fmt.Sprint(r.Newest[0].IDs, r.Newest[1].IDs) != "[4 5] [1 3]" {
				s.t.Errorf("%s: %v and %v", typ, r.Newest[0].IDs, r.Newest[1].IDs)
			}
		}
	})
}

func TestWhatIsAddedUp(t *testing.T) {
	double := map[nebis.Dialect]string{nebis.MySQL: "DOUBLE", nebis.Postgres: "DOUBLE PRECISION", nebis.SQLite: "REAL"}
	everywhere(t, func(s *shop) {
		for i, c := range []struct{ typ, value, total string }{
			{"DECIMAL(20,4)", "'1234567890123456.7891'", "1234567890123456.7891"}, {double[s.target.Dialect], "1500000.5", "1500000.5"}, {double[s.target.Dialect], "0.00001", "0.00001"},
			{"INTEGER", "-3", "-3"}, {"VARCHAR(20)", "'$7.50'", "7.50"}, {"INTEGER", "NULL", "0"},
		} {
			if s.target.Dialect == nebis.SQLite && i == 0 {
				continue // it has no decimals: this one is a floating point
			}
			table := fmt.Sprint("orders", i)
			s.exec("CREATE TABLE " + table + " (id " + s.id() + ", v " + c.typ + ", add_time INTEGER)")
			s.exec(fmt.Sprintf("INSERT INTO %s (v, add_time) VALUES (%s, %d), (%s, %d)", table, c.value, noon.Unix(), c.value, noon.Unix()))
			if r := s.find(find.Options{Table: table, Same: []string{"v"}, Sum: "v"}); r.Total != c.total || r.Unadded != 0 {
				s.t.Errorf("%s %s: %s, %d not added", c.typ, c.value, r.Total, r.Unadded)
			}
		}
	})
}

func TestWithoutSameItProposesColumns(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.exec("CREATE TABLE orders (nr INTEGER PRIMARY KEY, barcode VARCHAR(40) UNIQUE, order_no VARCHAR(40), user_id INTEGER, snack VARCHAR(40), amount DECIMAL(10,2), status VARCHAR(20), updated_at VARCHAR(40), add_time INTEGER, UNIQUE (snack, order_no))")
		for i := range 2 {
			s.exec(fmt.Sprintf("INSERT INTO orders VALUES (%d, 'b%d', 'n%d', 1, 'tea', 1, 's%d', 'u%d', %d)", i, i, i, i, i, 1772366400+i))
		}
		r := s.find(find.Options{})
		s.wants(r, 1, 1)
		if got := fmt.Sprintf("%v %v %v %v %v", r.Same, r.LeftOut, r.At, r.Proposed, r.ProposedAt); got != "[user_id snack amount] [nr barcode order_no status updated_at] add_time true true" {
			s.t.Errorf("it took, left, and went by %s", got)
		}
	})
}

func TestWithoutAtItDoesNotGuess(t *testing.T) {
	everywhere(t, func(s *shop) {
		typ := atColumns[0].typ[s.target.Dialect]
		s.exec("CREATE TABLE orders (id " + s.id() + ", user_id INTEGER, paid_on " + typ + ", seen_on " + typ + ")")
		if _, err := find.Run(s.t.Context(), s.target, options(find.Options{})); err == nil || !strings.Contains(err.Error(), "name it with --at") {
			s.t.Errorf("of two columns it took one: %v", err)
		}
	})
}

func TestNamesThatNeedQuotes(t *testing.T) {
	everywhere(t, func(s *shop) {
		for i, name := range []string{"order", "my orders", "a`b", `a"b`, "订单", "x'; DROP TABLE y; --", "a?b", "shop.orders"} {
			if s.target.Dialect == nebis.MySQL && strings.Contains(name, "订") {
				s.exec("CREATE TABLE `y` (id INTEGER)") // MySQL's names are UTF-8 whatever the tables are
			}
			table, user, at := s.quote(name), s.quote("user "+name), s.quote("at "+name)
			s.exec("CREATE TABLE " + table + " (" + s.quote("select") + " INTEGER PRIMARY KEY, " + user + " INTEGER, " + at + " INTEGER)")
			for n := range i + 2 {
				s.exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, 1, %d)", table, n, 1772366400+n))
			}
			r := s.find(find.Options{Table: name, Same: []string{"user " + name}, At: "at " + name, Sum: "user " + name, ID: []string{"select"}, Full: true})
			if s.wants(r, 1, i+1); !slices.Equal(r.Newest[0].IDs[:2], []string{"0", "1"}) {
				s.t.Errorf("%s: ids %v", name, r.Newest[0].IDs)
			}
		}
	})
}

func TestKeysOfEveryKind(t *testing.T) {
	for _, key := range []struct{ name, columns, key string }{
		{"text", "id VARCHAR(40) NOT NULL, n INTEGER NOT NULL", "PRIMARY KEY (id)"},
		{"two columns", "id VARCHAR(40) NOT NULL, n INTEGER NOT NULL", "PRIMARY KEY (n, id)"},
		{"unique, not null", "id VARCHAR(40) NOT NULL, n INTEGER NOT NULL", "UNIQUE (id, n)"},
		{"none", "id VARCHAR(40), n INTEGER", "UNIQUE (id)"},
	} {
		t.Run(key.name, func(t *testing.T) {
			everywhere(t, func(s *shop) {
				s.exec("CREATE TABLE orders (" + key.columns + ", user_id INTEGER, add_time INTEGER, " + key.key + ")")
				s.exec("CREATE INDEX by_time ON orders (add_time)")
				for i := range 50 { // ids in no order, pairs two seconds apart
					s.exec(fmt.Sprintf("INSERT INTO orders VALUES ('k%02d', %d, %d, %d)", i*37%50, i%3, i/2, 1772366400+i/2*100+i%2*2))
				}
				for _, since := range []time.Time{{}, time.Unix(1772366400, 0)} {
					for _, where := range []string{"", "user_id >= 0"} {
						s.wants(s.find(find.Options{Same: []string{"user_id"}, Since: since, Where: where}), 25, 25)
					}
				}
			})
		})
	}
}

func TestNullIsTheSameAsNullAndNotAsEmpty(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], false)
		for i, item := range []string{"NULL", "''", "NULL", "''"} {
			s.exec(fmt.Sprintf("INSERT INTO orders (user_id, item, created_at) VALUES (1, %s, %d)", item, 1772366400+i))
		}
		s.exec("INSERT INTO orders (user_id, item, created_at) VALUES (1, NULL, NULL), (1, NULL, 0)")
		s.exec("INSERT INTO orders (user_id, item, status, created_at) VALUES (2, 'ab', 'c', 1772366400), (2, 'a', 'bc', 1772366400)")
		r := s.find(find.Options{Same: []string{"user_id", "item", "status"}})
		if s.wants(r, 2, 2); r.Timeless != 2 {
			s.t.Errorf("%d rows without a time, planted 2", r.Timeless)
		}
	})
}

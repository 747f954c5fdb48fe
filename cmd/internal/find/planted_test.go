package find_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

func TestPlantedDuplicatesAreFoundExactly(t *testing.T) {
	for _, c := range atColumns {
		for _, index := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " index ", index), func(t *testing.T) {
				everywhere(t, func(s *shop) {
					s.plant(c, index, planted...)
					o := find.Options{Same: []string{"user_id", "item", "amount"}, At: "created_at", Sum: "amount", Full: true, Location: shanghai}
					if c.name == "microseconds" {
						o.Location = time.UTC
					}
					r := s.find(o)
					s.wants(r, plantedGroups, plantedSurplus)
					walls := c.name == "datetime" || c.name == "text"
					if strings.Contains(fmt.Sprint(r.Page(report.English).Limits), "have no zone") != walls && c.name != "microseconds" {
						s.t.Errorf("it says %q", r.Page(report.English).Limits)
					}
					if !r.WholeSecs {
						s.t.Error("the times are taken for finer than they are")
					}
					if r.Total != "29.20" {
						s.t.Errorf("the sum is %s", r.Total)
					}
					if !r.From.Equal(noon) || !r.To.Equal(noon.Add(43201*time.Second)) {
						s.t.Errorf("from %s to %s", r.From, r.To)
					}
					if got := fmt.Sprint(r.Newest[0].IDs, r.Newest[1].IDs, r.Newest[0].Gaps); got != "[15 14] [9 10 11] [2]" {
						s.t.Errorf("the newest are %s", got)
					}
					if r.Gaps != [6]int{2, 4} || r.Causes[find.DoubleClick] != 2 || r.Causes[find.Retry] != 4 {
						s.t.Errorf("gaps %v, causes %v", r.Gaps, r.Causes)
					}
				})
			})
		}
	}
}

func TestSinceReadsFromThere(t *testing.T) {
	for _, c := range atColumns {
		for _, index := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " index ", index), func(t *testing.T) {
				everywhere(t, func(s *shop) {
					old := []order{{1, "old", "1.00", "paid", -86400}, {1, "old", "1.00", "paid", -86400}}
					s.plant(c, index, append(old, planted...)...)
					zone := shanghai
					if c.name == "microseconds" {
						zone = time.UTC
					}
					r := s.find(find.Options{Same: []string{"user_id", "item", "amount"}, At: "created_at", Location: zone, Since: noon.Add(time.Second)})
					s.wants(r, plantedGroups-1, plantedSurplus-1) // the first group began before
				})
			})
		}
	}
}

func TestPageSizesAndPausesChangeNothing(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], true, planted...)
		for _, page := range []int{1, 2, 7, len(planted), 1000} {
			for _, where := range []string{"", "id > 0"} {
				for _, since := range []time.Time{{}, noon.Add(-time.Hour)} {
					r := s.find(find.Options{Page: page, Where: where, Since: since, Pause: time.Millisecond, Location: shanghai, Same: []string{"user_id", "item", "amount"}})
					if s.wants(r, plantedGroups, plantedSurplus); r.Rows != len(planted) {
						s.t.Errorf("pages of %d, where %q, since %v: %d rows read", page, where, since, r.Rows)
					}
				}
			}
		}
	})
}

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

// What stands for "never" would make one great group of everything.
func TestATimeThatStandsForNoneIsNone(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], true)
		s.exec("CREATE TABLE seconds (id " + s.id() + ", user_id INTEGER, add_time BIGINT)")
		walls := []string{"1970-01-01 08:00:00", "1970-01-01 08:00:00", "1000-01-01 00:00:00", "1000-01-01 00:00:00"}
		for _, wall := range walls {
			s.insert(order{user: 1, item: "tea", amount: "1"}, wall)
		}
		if s.target.Dialect == nebis.MySQL {
			s.exec("INSERT IGNORE INTO orders (user_id, item, amount, created_at) VALUES (1, 'tea', 1, '0000-00-00 00:00:00'), (1, 'tea', 1, '0000-00-00 00:00:00')")
		}
		for range 2 {
			s.insert(order{user: 2, item: "tea", amount: "1"}, "2026-03-01 12:00:00")
			for _, n := range []int64{-5, 0, 1, 990, 20260301, 99999999, noon.Unix()} {
				s.exec(fmt.Sprintf("INSERT INTO seconds (user_id, add_time) VALUES (1, %d)", n))
			}
		}
		for _, table := range []string{"orders", "seconds"} {
			r := s.find(find.Options{Table: table, Same: []string{"user_id"}, Location: time.UTC})
			if s.wants(r, 1, 1); r.Timeless+2 != r.Rows || r.From.Year() != 2026 {
				s.t.Errorf("%s: %d of %d rows without a time, from %s", table, r.Timeless, r.Rows, r.From)
			}
		}
		if _, err := find.Run(s.t.Context(), s.target, options(find.Options{At: "amount", Same: []string{"item"}})); err == nil || !strings.Contains(err.Error(), "no value of amount can be read as a time") {
			s.t.Errorf("amounts were taken for times: %v", err)
		}
	})
}

// The index is of no use where it has seconds and milliseconds, or text.
func TestSinceWithTimesOfSeveralKinds(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[4], true, planted...)
		s.exec("INSERT INTO orders (user_id, created_at) VALUES (8, 253402300799000), (8, 1)") // the end of all days, in milliseconds, and a mark
		o := find.Options{Same: []string{"user_id", "item", "amount"}, Since: noon.Add(-time.Second)}
		s.wants(s.find(o), plantedGroups, plantedSurplus)
		s.exec("UPDATE orders SET created_at = created_at / 1000 WHERE id <= 2 AND created_at > 5")
		if r := s.find(o); r.Rows != len(planted)+2 {
			s.t.Errorf("%d rows read", r.Rows)
		}
		if s.target.Dialect == nebis.SQLite {
			s.exec("UPDATE orders SET created_at = '2026-03-01 12:00:00' WHERE user_id = 8")
			s.wants(s.find(o), plantedGroups+1, plantedSurplus+1)
		}
	})
}

func TestTheReportSaysSinceWhen(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], false, planted...)
		for since, lead := range map[time.Time]string{
			noon.Add(44 * time.Hour): "There are no rows to compare.", noon.Add(43201 * time.Second): "There is one row only", noon.Add(43199 * time.Second): "One row too many.",
		} {
			r := s.find(find.Options{Since: since, Same: []string{"user_id", "item"}})
			page := r.Page(report.English)
			if !strings.HasPrefix(page.Lead, lead) || r.Rows != len(planted) {
				s.t.Errorf("since %s: %s, %d rows", since, page.Lead, r.Rows)
			}
			if !strings.Contains(fmt.Sprint(page.Facts), "Only since") {
				s.t.Errorf("since when? %v", page.Facts)
			}
			b, err := json.Marshal(r)
			if err != nil || strings.Contains(string(b), "0001-01-01") {
				s.t.Errorf("%s, %v", b, err)
			}
		}
	})
}

func TestATableThatIsWrittenDuringTheReading(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], true, planted...)
		left := 2
		o := find.Options{Same: []string{"user_id", "item", "amount"}, Progress: func(int, int) {
			if left--; left >= 0 {
				s.insert(order{user: 99, item: "new", amount: "1"}, noon.Unix()+90_000)
			}
		}}
		s.wants(s.find(o), plantedGroups+1, plantedSurplus+1)
	})
}

func TestTheZoneHasAName(t *testing.T) {
	s := openShop(t, dburltest.SQLite(t))
	s.plant(atColumns[0], false, planted...)
	for loc, want := range map[*time.Location]string{time.Local: "this computer, now ", shanghai: "those of Asia/Shanghai (--tz)"} {
		limits := strings.Join(s.find(find.Options{Location: loc}).Page(report.English).Limits, "\n")
		if !strings.Contains(limits, want) || strings.Contains(limits, "Local") {
			t.Errorf("%s: %s", loc, limits)
		}
	}
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

func TestWhereLeavesRowsOut(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		r := s.find(find.Options{Where: "status NOT IN ('cancelled', 'it''s (not; there)') OR item = 'pot'", Same: []string{"user_id", "item", "amount"}})
		s.wants(r, plantedGroups-1, plantedSurplus-1)
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

func TestTheNewestGroupsAreListed(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], false)
		for i := range 25 {
			o := order{user: 1, amount: "1", after: float64((i + 20) % 25 * 100)} // the first is not the earliest
			s.insert(o, o.at().Unix())
			s.insert(o, o.at().Unix())
		}
		s.exec(fmt.Sprintf("INSERT INTO orders (user_id, created_at) VALUES (2, %d), (3, NULL)", noon.Unix()))
		r := s.find(find.Options{Same: []string{"user_id"}})
		if len(r.Newest) != 20 || !r.Newest[0].First.Equal(noon.Add(2400*time.Second)) || !r.Newest[19].First.Equal(noon.Add(500*time.Second)) || !r.From.Equal(noon) {
			s.t.Errorf("%d groups from %s to %s, rows from %s", len(r.Newest), r.Newest[19].First, r.Newest[0].First, r.From)
		}
		if lead := s.find(find.Options{Where: "user_id > 1", Same: []string{"user_id"}}).Page(report.English).Lead; lead != "There is one row only: nothing to compare it with." {
			s.t.Errorf("of two rows, one without a time, it says: %s", lead)
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

func TestAViewIsReadInOneGo(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], false, planted...)
		s.exec("CREATE VIEW paid AS SELECT * FROM orders WHERE status = 'paid'")
		s.wants(s.find(find.Options{Table: "paid", Same: []string{"user_id", "item", "amount"}, Full: true}), plantedGroups-1, plantedSurplus-1)
	})
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

// berlin is the clock on the wall of a shop whose summer time ends and begins.
func TestTheHourThatTheClockShowsTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], true)
		for i, wall := range []string{
			"2026-03-29 01:59:58", "2026-03-29 03:00:02", // 4 s apart
			"2026-10-25 02:30:00", "2026-10-25 02:30:05", "2026-10-25 02:30:03", // two that overtook each other
			"2026-10-25 02:59:59", "2026-10-25 02:00:01", "2026-10-25 02:30:02", // the second is 2 s before the third, the first an hour before the last
		} {
			s.insert(order{user: []int{1, 1, 2, 4, 4, 3, 3, 2}[i], item: "tea", amount: "1"}, wall)
		}
		r := s.find(find.Options{Same: []string{"user_id", "item"}, Location: berlin, Full: true})
		if s.wants(r, 3, 3); fmt.Sprint(r.Newest[0].IDs, r.Newest[1].IDs, r.Newest[2].IDs) != "[6 7] [5 4] [1 2]" {
			s.t.Errorf("found are %v, %v and %v", r.Newest[0].IDs, r.Newest[1].IDs, r.Newest[2].IDs)
		}
	})
}

func TestEveryCauseByItsGap(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[4], false,
			order{user: 1, amount: "1", after: 0}, order{user: 1, amount: "1", after: 0.999}, // a double click
			order{user: 2, amount: "1", after: 0}, order{user: 2, amount: "1", after: 1}, // a retry
			order{user: 3, amount: "1", after: 0}, order{user: 3, amount: "1", after: 15.2}, order{user: 3, amount: "1", after: 30.5}, // a provider
			order{user: 4, amount: "1", after: 0}, order{user: 4, amount: "1", after: 400}, // somebody, later
			order{user: 5, amount: "1", after: 0}, order{user: 5, amount: "1", after: 60}, // a late retry
			order{user: 6, amount: "1", after: 0}, order{user: 6, amount: "1", after: 60.001}) // later
		r := s.find(find.Options{Same: []string{"user_id"}, Within: time.Hour})
		if fmt.Sprint(r.Causes) != "map[callback:2 double_click:1 later:2 retry:2]" || r.WholeSecs {
			s.t.Errorf("%v, whole seconds %v", r.Causes, r.WholeSecs)
		}
	})
}

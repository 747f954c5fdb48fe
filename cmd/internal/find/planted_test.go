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

func TestWhereLeavesRowsOut(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		r := s.find(find.Options{Where: "status NOT IN ('cancelled', 'it''s (not; there)') OR item = 'pot'", Same: []string{"user_id", "item", "amount"}})
		s.wants(r, plantedGroups-1, plantedSurplus-1)
	})
}

func TestWithoutSameItProposesColumns(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.exec("CREATE TABLE orders (nr INTEGER PRIMARY KEY, barcode VARCHAR(40) UNIQUE, order_no VARCHAR(40), user_id INTEGER, snack VARCHAR(40), amount DECIMAL(10,2), status VARCHAR(20), updated_at VARCHAR(40), add_time INTEGER)")
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
			"2026-10-25 02:30:00", "2026-10-25 02:59:59", "2026-10-25 02:00:01", "2026-10-25 02:30:02", // the second is 2 s before the third, the first an hour before the last
		} {
			s.insert(order{user: []int{1, 1, 2, 3, 3, 2}[i], item: "tea", amount: "1"}, wall)
		}
		r := s.find(find.Options{Same: []string{"user_id", "item"}, Location: berlin, Full: true})
		if s.wants(r, 2, 2); fmt.Sprint(r.Newest[0].IDs, r.Newest[1].IDs) != "[4 5] [1 2]" {
			s.t.Errorf("found are %v and %v", r.Newest[0].IDs, r.Newest[1].IDs)
		}
	})
}

func TestEveryCauseByItsGap(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[4], false,
			order{user: 1, amount: "1", after: 0}, order{user: 1, amount: "1", after: 0.999}, // a double click
			order{user: 2, amount: "1", after: 0}, order{user: 2, amount: "1", after: 1}, // a retry
			order{user: 3, amount: "1", after: 0}, order{user: 3, amount: "1", after: 15.2}, order{user: 3, amount: "1", after: 30.5}, // a provider
			order{user: 4, amount: "1", after: 0}, order{user: 4, amount: "1", after: 400}) // somebody, later
		r := s.find(find.Options{Same: []string{"user_id"}, Within: time.Hour})
		if fmt.Sprint(r.Causes) != "map[callback:2 double_click:1 later:1 retry:1]" || r.WholeSecs {
			s.t.Errorf("%v, whole seconds %v", r.Causes, r.WholeSecs)
		}
	})
}

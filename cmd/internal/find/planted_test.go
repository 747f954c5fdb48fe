package find_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

func TestWhereLeavesRowsOut(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[0], false, planted...)
		r := s.find(find.Options{Where: "status NOT IN ('cancelled', 'it''s (not; there)') OR item = 'pot'", Same: []string{"user_id", "item", "amount"}})
		s.wants(r, plantedGroups-1, plantedSurplus-1)
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

func TestAViewIsReadInOneGo(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.plant(atColumns[3], false, planted...)
		s.exec("CREATE VIEW paid AS SELECT * FROM orders WHERE status = 'paid'")
		s.wants(s.find(find.Options{Table: "paid", Same: []string{"user_id", "item", "amount"}, Full: true}), plantedGroups-1, plantedSurplus-1)
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

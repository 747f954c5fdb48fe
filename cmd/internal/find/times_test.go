package find_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/find"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

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

package adoption

import (
	"errors"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestExpiredOldRowsMakeWay(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		s.later("token IS NULL")
		for _, key := range []string{uuid("done", 0), uuid("processing", 0)} {
			if got, ran, err := s.do("u1", key, "order"); err != nil || !ran || got != "answer for u1" {
				t.Errorf("%s: %q, ran %t, %v", key, got, ran, err)
			}
			if got, ran, err := s.do("u1", key, "order"); err != nil || ran || got != "answer for u1" {
				t.Errorf("%s again: %q, ran %t, %v", key, got, ran, err)
			}
		}
		if n := s.purge(); n != 4 {
			t.Errorf("Purge took %d of the other 4", n)
		}
	})
}

func TestPurgeStampsAndLaterRemoves(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		late := uuid("late", 1)
		if err := s.oldInsert(late, "order"); err != nil {
			t.Fatal(err)
		}
		if n := s.purge(); n != 0 {
			t.Errorf("%d went before their time", n)
		}
		if n := s.count("expires_at IS NULL"); n != 0 {
			t.Errorf("%d have no expiry", n)
		}
		// Whatever the session's zone, the expiry is a day from now.
		if n := s.count(map[nebis.Dialect]string{
			nebis.MySQL:    "ABS(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), expires_at) - 86400) > 60",
			nebis.Postgres: "abs(extract(epoch FROM expires_at - clock_timestamp()) - 86400) > 60",
			nebis.SQLite:   "abs(strftime('%s', expires_at) - strftime('%s', 'now') - 86400) > 60",
		}[c.Dialect]); n != 0 {
			t.Errorf("%d expire at another time", n)
		}
		s.later("token IS NULL")
		if n := s.purge(); n != 7 {
			t.Errorf("%d of 7 went", n)
		}
	})
}

func TestTheOldIndexGoesWithTheLastOldRow(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := adopted(t, c)
		s.later("status <> 'processing'")
		s.purge()
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("with old rows left, it did %q", ran)
		}
		s.later("token IS NULL")
		s.purge()
		if _, _, err := s.do("u1", "k", "order"); err != nil {
			t.Fatal(err)
		}
		if ran := s.migrate(); len(ran) == 0 {
			t.Error("the old index stays")
		}
		if got, ran, err := s.do("u2", "k", "order"); err != nil || !ran || got != "answer for u2" {
			t.Errorf("a second owner: %q, ran %t, %v", got, ran, err)
		}
		if got, ran, err := s.do("u1", "k", "order"); err != nil || ran || got != "answer for u1" {
			t.Errorf("the first owner: %q, ran %t, %v", got, ran, err)
		}
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("again, it did %q", ran)
		}
		for _, f := range s.findings(nil) {
			if f.Level == nebis.Problem || strings.HasPrefix(f.Code, "old-") {
				t.Error(f)
			}
		}
	})
}

func TestAnEmptyTableKeepsTheOldIndexAtFirst(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c, handMade[c.Dialect]...)
		s.migrate() // the old code may be about to insert
		key := uuid("first", 1)
		if err := s.oldInsert(key, "order"); err != nil {
			t.Fatal(err)
		}
		if _, ran, err := s.do("u", key, "order"); !errors.Is(err, nebis.ErrInProgress) || ran {
			t.Error(ran, err)
		}
		if ran := s.migrate(); strings.Contains(strings.Join(ran, ""), "uk_key_scope") {
			t.Errorf("%q", ran)
		}
	})
}

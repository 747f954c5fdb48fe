package adoption

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

func TestMigrateMakesTheTableOnce(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c)
		if ran := s.migrate(); len(ran) == 0 {
			t.Error("the first run did nothing")
		}
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("the second run did %q", ran)
		}
		if _, ran, err := s.do("u", "k", "order"); err != nil || !ran {
			t.Error(ran, err)
		}
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("with a row in it, it did %q", ran)
		}
	})
}

func TestMigrateMakesWhatSchemaSays(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s, byHand := open(t, c), open(t, c)
		s.migrate()
		ddl, err := c.Dialect.Schema("")
		if err != nil {
			t.Fatal(err)
		}
		byHand.exec(strings.Split(strings.TrimSuffix(ddl, ";\n"), ";\n\n")...)
		if a, b := s.shape(), byHand.shape(); a != b {
			t.Errorf("Migrate:\n%s\nSchema:\n%s", a, b)
		}
		if plan := byHand.dryRun(); len(plan) != 0 {
			t.Errorf("Migrate would change Schema's table: %q", plan)
		}
	})
}

func TestMigrateInAnotherSchema(t *testing.T) {
	tables := map[nebis.Dialect]string{nebis.SQLite: "main.keys_once", nebis.MySQL: "%s.keys_once", nebis.Postgres: "%s.keys_once"}
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c)
		var here string
		if c.Dialect != nebis.SQLite {
			where := map[nebis.Dialect]string{nebis.MySQL: "SELECT DATABASE()", nebis.Postgres: "SELECT current_schema()"}[c.Dialect]
			if err := s.db.QueryRow(where).Scan(&here); err != nil {
				t.Fatal(err)
			}
		}
		s.store = s.with(&nebis.Options{Table: strings.Replace(tables[c.Dialect], "%s", here, 1)})
		s.migrate()
		if ran := s.migrate(); len(ran) != 0 {
			t.Errorf("the second run did %q", ran)
		}
		if _, ran, err := s.do("u", "k", "order"); err != nil || !ran {
			t.Error(ran, err)
		}
		if _, ran, err := s.do("u", "k", "order"); err != nil || ran {
			t.Error(ran, err)
		}
	})
}

func TestManyMigratesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		for _, ddl := range [][]string{nil, handMade[c.Dialect]} {
			s := open(t, c, ddl...)
			if ddl != nil {
				s.someRows(30)
			}
			all := make([][]string, 8)
			var wg sync.WaitGroup
			for i := range all {
				store := s.with(nil)
				wg.Go(func() {
					ran, err := store.Migrate(context.Background(), false)
					if all[i] = ran; err != nil {
						t.Errorf("table made by hand: %t: %v", ddl != nil, err)
					}
				})
			}
			wg.Wait()
			changed := 0
			for _, ran := range all {
				for _, q := range ran {
					if strings.HasPrefix(q, "CREATE TABLE") || strings.HasPrefix(q, "ALTER TABLE") && strings.Contains(q, "owner") {
						changed++
					}
				}
			}
			if changed != 1 {
				t.Errorf("%d of 8 changed the table", changed)
			}
			if plan := s.dryRun(); len(plan) != 0 {
				t.Errorf("left over: %q", plan)
			}
			if ddl != nil && s.count("expires_at IS NULL") != 0 {
				t.Error("rows without an expiry")
			}
		}
	})
}

func TestDryRunChangesNothingAndSaysItAll(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		for _, ddl := range [][]string{nil, handMade[c.Dialect]} {
			s, byHand := open(t, c, ddl...), open(t, c, ddl...)
			if ddl != nil {
				s.someRows(3)
				byHand.someRows(3)
			}
			before := s.shape()
			plan := s.dryRun()
			if after := s.shape(); after != before {
				t.Errorf("the dry run changed the table:\n%s\n%s", before, after)
			}
			byHand.exec(plan...)
			ran := s.migrate()
			if strings.Join(ran, ";") != strings.Join(plan, ";") {
				t.Errorf("announced %q\nran %q", plan, ran)
			}
			if a, b := s.shape(), byHand.shape(); a != b {
				t.Errorf("by Migrate:\n%s\nby hand:\n%s", a, b)
			}
			if left := byHand.dryRun(); len(left) != 0 {
				t.Errorf("by hand, this is left: %q", left)
			}
		}
	})
}

// shape is what the database says that the table looks like.
func (s *site) shape() string {
	s.Helper()
	switch s.c.Dialect {
	case nebis.MySQL:
		if s.table(`SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'idempotency'`) == "" {
			return ""
		}
		text := s.table("SHOW CREATE TABLE idempotency")
		before, rest, _ := strings.Cut(text, "AUTO_INCREMENT=")
		if rest != "" {
			_, rest, _ = strings.Cut(rest, " ")
		}
		return before + rest
	case nebis.Postgres:
		return s.table(`SELECT attname, format_type(atttypid, atttypmod), attnotnull, attcollation, pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = to_regclass('idempotency') AND attnum > 0 ORDER BY attname`) +
			s.table(`SELECT regexp_replace(indexdef, ' ON [^.]*[.]', ' ON ') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`) +
			s.table(`SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = to_regclass('idempotency') ORDER BY 1`)
	}
	return strings.ReplaceAll(s.table(`SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name`), " IF NOT EXISTS", "")
}

package adoption

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Tables made by other hands: Check names what is wrong, Migrate puts it right
// without losing a row, or says what a person has to do and changes nothing.
func TestTablesOfOtherHands(t *testing.T) {
	for _, c := range []dbtest.Config{dbtest.Lookup("mariadb"), dbtest.Lookup("mysql56"), dbtest.Lookup("postgres-pq"), dbtest.Lookup("sqlite-modernc"), dbtest.Lookup("sqlite-mattn")} {
		for _, v := range variants[c.Dialect] {
			if v.config != "" && v.config != c.Name {
				continue
			}
			t.Run(c.Name+"/"+v.name, func(t *testing.T) {
				s := open(t, c, v.ddl(c.Dialect)...)
				v.fill(s)
				v.check(s)
				if v.refused != "" {
					v.refusal(s)
					return
				}
				before := s.rowsAsText()
				s.migrate()
				if after := s.rowsAsText(); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
				if ran := s.migrate(); len(ran) != 0 {
					t.Errorf("the second run did %q", ran)
				}
				v.works(s)
				v.keeps(s)
			})
		}
	}
}

func (s *site) rowsAsText() string {
	char := "CHAR(40)"
	if s.c.Dialect != nebis.MySQL {
		char = "VARCHAR(40)"
	}
	return s.table("SELECT CAST(idem_key AS " + char + "), CAST(scope AS " + char + "), CAST(status AS " + char + "), response FROM idempotency ORDER BY 1, 2")
}

// fill puts two rows of the old code's in.
func (v variant) fill(s *site) {
	s.Helper()
	if v.code == "column-type" && (v.name == "status as number" || v.name == "key as bytes") || v.name == "a column that must be filled" {
		return
	}
	status := "done"
	response := "'{}'"
	s.exec("INSERT INTO idempotency (idem_key, scope, status, response) VALUES ('"+uuid("a", 1)+"', 'order', '"+status+"', "+response+")",
		"INSERT INTO idempotency (idem_key, scope, status, response) VALUES ('"+uuid("b", 2)+"', 'order', 'done', '[1, 2]')")
}

func (v variant) check(s *site) {
	s.Helper()
	fs := s.findings(nil)
	unwanted := strings.TrimPrefix(v.code, "-")
	found := false
	for _, f := range fs {
		found = found || f.Code == unwanted
	}
	if v.code != "" && found == strings.HasPrefix(v.code, "-") {
		s.Errorf("Check says %v; %s", fs, v.code)
	}
}

func (v variant) refusal(s *site) {
	s.Helper()
	before := s.shape()
	for _, dry := range []bool{true, false} {
		plan, err := s.store.Migrate(context.Background(), dry)
		if err == nil || !strings.Contains(err.Error(), v.refused) || len(plan) != 0 {
			s.Errorf("dry run %t: %q, %v", dry, plan, err)
		}
	}
	if after := s.shape(); after != before {
		s.Errorf("refused, and changed:\n%s\n%s", before, after)
	}
}

// works uses the table that was taken over, with a long key and both cases.
func (v variant) works(s *site) {
	s.Helper()
	if _, ran, err := s.do("u", uuid("a", 1), "order"); !errors.Is(err, nebis.ErrNotKept) || ran {
		s.Errorf("a key of the old code's: ran %t, %v", ran, err)
	}
	for _, key := range []string{strings.Repeat("k", 255), "abc", "ABC", "007", "7"} {
		if got, ran, err := s.do("u", key, strings.Repeat("s", 64)); err != nil || !ran || got != "answer for u" {
			s.Errorf("%.10s: %q, ran %t, %v", key, got, ran, err)
		}
		if got, ran, err := s.do("u", key, strings.Repeat("s", 64)); err != nil || ran || got != "answer for u" {
			s.Errorf("%.10s again: %q, ran %t, %v", key, got, ran, err)
		}
	}
	for _, f := range s.findings(nil) {
		if f.Level == nebis.Problem && f.Code != "unique-other" {
			s.Error(f)
		}
	}
	s.exec("UPDATE idempotency SET status = 'failed' WHERE idem_key = '007'")
	s.later("token IS NULL")
	s.purge()
	s.migrate()
	if ran := s.migrate(); len(ran) != 0 {
		s.Errorf("the last run did %q", ran)
	}
	for _, owner := range []string{"u1", "u2"} {
		if _, ran, err := s.do(owner, "shared", "order"); err != nil || !ran {
			s.Errorf("%s: ran %t, %v", owner, ran, err)
		}
	}
}

// keeps looks after what of the site's own was around the table.
func (v variant) keeps(s *site) {
	s.Helper()
	switch {
	case strings.HasPrefix(v.name, "triggers"):
		if s.table("SELECT 1 FROM seen WHERE idem_key = 'shared'") == "" {
			s.Error("the trigger has gone")
		}
		if s.table("SELECT 1 FROM answers") == "" || !strings.Contains(s.shape(), "ON DELETE CASCADE") || !strings.Contains(s.shape(), "idx_created") {
			s.Errorf("the view, the foreign key or the index has gone: %s", s.shape())
		}
	case strings.Contains(v.name, "default"):
		if !strings.Contains(s.shape(), "DEFAULT") {
			s.Error(s.shape())
		}
	case s.c.Dialect == nebis.MySQL && strings.HasPrefix(v.name, "key in"):
		if shape := s.shape(); !strings.Contains(shape, "客户端生成的UUID") {
			s.Errorf("the comment has gone: %s", shape)
		}
	}
}

func TestDoublesThatNoIndexForbade(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		i := map[nebis.Dialect]string{nebis.MySQL: "UNIQUE KEY uk_key_scope (idem_key, scope),"}[c.Dialect]
		if i == "" {
			i = ",\n  CONSTRAINT uk_key_scope UNIQUE (idem_key, scope)"
		}
		v := variant{before: i, refused: "GROUP BY idem_key, scope", code: "doubles"}
		s := open(t, c, v.ddl(c.Dialect)...)
		for range 2 {
			if err := s.oldInsert(uuid("a", 1), "order"); err != nil {
				t.Fatal(err)
			}
		}
		v.check(s)
		v.refusal(s)
		s.exec("DELETE FROM idempotency WHERE id > 1")
		s.migrate()
	})
}

func TestKeysThatAreNotASCII(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56"} {
		t.Run(name, func(t *testing.T) {
			s := open(t, dbtest.Lookup(name), handMade[nebis.MySQL]...)
			if err := s.oldInsert(uuid("a", 1), "下单"); err != nil {
				t.Fatal(err)
			}
			s.migrate()
			if ran := s.migrate(); len(ran) != 0 {
				t.Errorf("the second run did %q", ran)
			}
			if status, _ := s.oldRead(uuid("a", 1), "下单"); status != "processing" {
				t.Error(status)
			}
			if err := s.oldInsert(uuid("a", 1), "下单"); !duplicate(err) {
				t.Error(err)
			}
			if err := s.oldInsert(uuid("a", 2), "下单"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A statement that fails half-way: nothing is lost, and the next run goes on.
func TestAFailureOnTheWay(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		s := open(t, c, handMade[c.Dialect]...)
		s.someRows(3)
		before := s.shape()
		switch c.Dialect {
		case nebis.MySQL:
			s.exec("ALTER TABLE idempotency DROP INDEX uk_key_scope, MODIFY idem_key TEXT", "INSERT INTO idempotency (idem_key, scope) VALUES (REPEAT('k', 300), 'order')")
			before = s.shape()
		case nebis.Postgres:
			s.exec("CREATE VIEW keys AS SELECT idem_key FROM idempotency")
		case nebis.SQLite:
			t.Skip("nothing is known that fails here")
		}
		_, err := s.store.Migrate(context.Background(), false)
		if err == nil || !strings.Contains(err.Error(), "run Migrate again") {
			t.Fatal(err)
		}
		if after := s.shape(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		s.exec(map[nebis.Dialect]string{nebis.MySQL: "DELETE FROM idempotency WHERE LENGTH(idem_key) = 300", nebis.Postgres: "DROP VIEW keys"}[c.Dialect])
		s.migrate()
		if _, ran, err := s.do("u", uuid("done", 0), "order"); !errors.Is(err, nebis.ErrNotKept) || ran {
			t.Error(ran, err)
		}
	})
}

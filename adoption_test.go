package nebis

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// whole returns the shape of a table as Migrate makes it on MySQL.
func whole() *shape {
	s := &shape{exists: true, engine: "InnoDB", numbered: true}
	for _, w := range wants {
		c := column{name: w.name, typ: "varchar", kind: w.kind, exact: true, nullable: true, filled: true, charset: "ascii"}
		if w.name == "response" {
			c.charset = "utf8mb4"
		}
		s.columns = append(s.columns, c)
	}
	s.indexes = []index{
		{name: "t_uk", unique: true, columns: []string{"idem_key", "scope", "owner"}},
		{name: "t_idx_expires", columns: []string{"expires_at"}},
	}
	return s
}

func codes(fs findings) string {
	var all []string
	for _, f := range fs {
		all = append(all, f.Code)
	}
	return strings.Join(all, " ")
}

func TestPlanLeavesAWholeTableAlone(t *testing.T) {
	for _, d := range []Dialect{MySQL, Postgres, SQLite} {
		plan, err := d.adopter().plan(sqltext.Name{Table: "t"}, whole())
		if len(plan) != 0 || err != nil {
			t.Errorf("%v: %q, %v", d, plan, err)
		}
	}
}

func TestPlanTouchesOnlyWhatIsWrong(t *testing.T) {
	s := whole()
	*s.column("idem_key") = column{name: "idem_key", typ: "varchar(300)", kind: text, length: 300, exact: true, charset: "utf8mb4"}
	*s.column("scope") = column{name: "scope", typ: "varchar(32)", kind: text, length: 32, charset: "utf8mb4", filled: true, fallback: "o'r", comment: "业务'域"}
	plan, err := MySQL.adopter().plan(sqltext.Name{Schema: "s", Table: "t"}, s)
	want := "ALTER TABLE `s`.`t`\n  MODIFY COLUMN scope VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'o''r' COMMENT '业务''域'"
	if err != nil || len(plan) != 1 || plan[0] != want {
		t.Errorf("%q, %v", plan, err)
	}
}

// MySQL 5.6 has 767 bytes for a column in an index.
func TestNewKeyColumnsFitIntoAnIndexOfMySQL56(t *testing.T) {
	for _, w := range wants {
		c := &column{kind: text, length: 36, charset: "utf8mb4"}
		if def := mysqlType(w, c); w.exact && !strings.Contains(def, "ascii") {
			t.Errorf("%s: %s", w.name, def)
		}
	}
}

func TestOldIndexIsDroppedWhenNothingNeedsIt(t *testing.T) {
	for _, c := range []struct {
		what  string
		alter func(*shape)
		want  bool
	}{
		{"no old row", func(*shape) {}, true},
		{"old rows", func(s *shape) { s.rows.old = true }, false},
		{"taken over by this very run", func(s *shape) { s.columns = s.columns[:5] }, false},
		{"a primary key", func(s *shape) { s.indexes[2].primary = true }, false},
		{"another column in it", func(s *shape) { s.indexes[2].columns = []string{"idem_key", "shop"} }, false},
		{"not unique", func(s *shape) { s.indexes[2].unique = false }, false},
	} {
		s := whole()
		s.indexes = append(s.indexes, index{name: "uk_key_scope", unique: true, columns: []string{"scope", "idem_key"}})
		c.alter(s)
		if got := len(s.spent()) > 0; got != c.want {
			t.Errorf("%s: dropped %t", c.what, got)
		}
	}
}

func TestIndexNamesThatAreTaken(t *testing.T) {
	s := &shape{taken: []string{"t_uk", "t_uk2"}}
	if got := s.free("t_uk"); got != "t_uk3" {
		t.Error(got)
	}
}

func TestParseDefinition(t *testing.T) {
	d, ok := parseDefinition("CREATE TABLE \"a(b\" (id INTEGER PRIMARY KEY, -- x, (\n [idem_key] TEXT /* ) */ COLLATE NOCASE DEFAULT 'it''s, (' ,\n" +
		"`scope` TEXT CHECK (scope IN ('a,b', \"c)\")), CONSTRAINT u UNIQUE ( \"idem_key\" ASC, scope ), CHECK (status IN ('processing','done'))) STRICT")
	if !ok || len(d.parts) != 5 || d.tail != " STRICT" {
		t.Fatalf("%q %q", d.parts, d.tail)
	}
	var names []string
	for _, p := range d.parts {
		names = append(names, columnOf(p))
	}
	if got := strings.Join(names, ","); got != "id,idem_key,scope,," {
		t.Error(got)
	}
	if got := after(d.parts[1], "COLLATE"); got != "nocase" {
		t.Error(got)
	}
	if !oldUnique(d.parts[3]) || oldUnique(d.parts[4]) || oldUnique("UNIQUE (idem_key, scope, owner)") || oldUnique("idem_key TEXT UNIQUE") {
		t.Error("old unique constraint not told apart")
	}
	if got := lacks(d.parts[4]); !slices.Equal(got, []string{"failed"}) {
		t.Error(got)
	}
	if _, ok := parseDefinition("CREATE TABLE x AS SELECT 1"); ok {
		t.Error("a table without columns")
	}
}

func TestNumericAffinity(t *testing.T) {
	for typ, want := range map[string]bool{"": false, "TEXT": false, "VARCHAR(36)": false, "uuid": true, "JSON": true, "INTEGER": true, "BLOB": false, "CHARINT": true} {
		if got := numericAffinity(typ); got != want {
			t.Errorf("%s: %t", typ, got)
		}
	}
}

func TestEnumWords(t *testing.T) {
	if got := enumWords("enum('a','it''s','b')"); !slices.Equal(got, []string{"a", "it's", "b"}) {
		t.Errorf("%q", got)
	}
}

func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{"a ? b ?": "a 7 b 9", "a $1 b $2 c $1": "a 7 b 9 c 7"} {
		if got := literal(in, 7, 9); got != want {
			t.Error(got)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		version, least string
		want           bool
	}{
		{"5.5.62-log", "5.6", true}, {"5.6.24", "5.6", false}, {"8.0.36", "5.6", false}, {"10.5.23-MariaDB-1", "10.6", true},
		{"10.11.19-MariaDB", "10.6", false}, {"12.3 (Debian 12.3-1)", "13", true}, {"13beta1", "13", false}, {"3.34.1", "3.35", true}, {"", "13", false},
	} {
		if got := older(c.version, c.least); got != c.want {
			t.Errorf("%s before %s: %t", c.version, c.least, got)
		}
	}
}

func TestJudgeServer(t *testing.T) {
	o := Options{}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		v    server
		want string
	}{
		{"clock behind", server{product: "PostgreSQL", ahead: -time.Minute, settings: map[string]string{"default_transaction_isolation": "read committed",
			"transaction_read_only": "off", "idle_in_transaction_session_timeout": "1000", "tcp_keepalives_idle": "7200"}}, "clock"},
		{"nothing may be read", server{product: "MySQL"}, "not-read"},
		{"replica", server{product: "MariaDB", settings: map[string]string{"read_only": "ON"}}, "read-only not-read"},
		{"wait_timeout short", server{product: "MariaDB", settings: map[string]string{"wait_timeout": "600", "idle_write_transaction_timeout": "0", "idle_transaction_timeout": "0",
			"tx_isolation": "READ-COMMITTED", "autocommit": "ON", "read_only": "OFF", "sql_mode": "STRICT_ALL_TABLES", "max_allowed_packet": "16777216"}}, ""},
		{"session at READ UNCOMMITTED, the Store above", server{product: "MySQL", settings: map[string]string{"tx_isolation": "READ-UNCOMMITTED"}}, "read-uncommitted not-read"},
		{"autocommit off", server{product: "MariaDB", settings: map[string]string{"autocommit": "OFF"}}, "autocommit-off not-read"},
	} {
		var fs findings
		o := o
		if strings.Contains(c.what, "the Store above") {
			o.Isolation = sql.LevelReadCommitted
		}
		if c.v.judge(&fs, o); codes(fs) != c.want {
			t.Errorf("%s: %v", c.what, fs)
		}
	}
	var fs findings
	if v := (&server{product: "PostgreSQL", version: "12.9"}); !v.tooOld(&fs) || codes(fs) != "server-old" {
		t.Errorf("%v", fs)
	}
}

func TestClockIsReadInTheMiddle(t *testing.T) {
	sent := time.UnixMicro(1_000_000)
	if got := ahead(sent, sent.Add(2*time.Second), 2_000_000); got != 0 {
		t.Error(got)
	}
}

func TestResponseColumnSmallerThanMaxResponse(t *testing.T) {
	s := whole()
	s.column("response").length = mediumText
	var fs findings
	if s.judge(&fs, Options{MaxResponse: 20 << 20}); codes(fs) != "response-small" {
		t.Errorf("%v", fs)
	}
}

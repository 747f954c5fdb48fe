package find_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/find"
)

// shop is a database with a table to look through.
type shop struct {
	t      *testing.T
	target dburl.Target
	db     *sql.DB

	inserted int // by write
}

// everywhere runs a test on a database of each kind.
func everywhere(t *testing.T, test func(s *shop)) {
	dburltest.Everywhere(t, func(t *testing.T, dbURL string) { test(openShop(t, dbURL)) })
}

func openShop(t *testing.T, dbURL string) *shop {
	t.Helper()
	db, target := dburltest.Open(t, dbURL)
	return &shop{t: t, target: target, db: db}
}

func (s *shop) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query, args...); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// quote is by hand: the tests must not trust what they test.
func (s *shop) quote(name string) string {
	q := `"`
	if s.target.Dialect == nebis.MySQL {
		q = "`"
	}
	return q + strings.ReplaceAll(name, q, q+q) + q
}

// id is the type of a column that counts by itself.
func (s *shop) id() string {
	switch s.target.Dialect {
	case nebis.MySQL:
		return "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"
	case nebis.Postgres:
		return "BIGSERIAL PRIMARY KEY"
	}
	return "INTEGER PRIMARY KEY"
}

// options are quick for tests.
func options(o find.Options) *find.Options {
	if o.Table == "" {
		o.Table = "orders"
	}
	if o.Page == 0 {
		o.Page = 3 // so that every group lies over the edge of a read
	}
	return &o
}

func (s *shop) find(o find.Options) *find.Result {
	s.t.Helper()
	r, err := find.Run(s.t.Context(), s.target, options(o))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// wants compares the figures.
func (s *shop) wants(r *find.Result, groups, surplus int) {
	s.t.Helper()
	if r.Groups != groups || r.Surplus != surplus {
		s.t.Errorf("%d rows too many in %d groups; planted %d in %d", r.Surplus, r.Groups, surplus, groups)
	}
}

// order is a row to be.
type order struct {
	user   int
	item   string
	amount string
	status string
	after  float64 // seconds after noon
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (o order) at() time.Time { return noon.Add(time.Duration(o.after * float64(time.Second))) }

// planted: 6 rows too many in 4 groups for whole seconds, on a window of 5 s.
var planted = []order{
	{1, "tea", "10.10", "paid", 0}, {2, "tea", "10.10", "paid", 0}, {1, "tea", "10.10", "cancelled", 1}, // another user between
	{3, "cup", "7.05", "paid", 20}, {3, "cup", "7.05", "paid", 25}, {3, "cup", "7.05", "paid", 30}, // chained, on the edge of the window
	{4, "pot", "20.00", "paid", 40}, {4, "pot", "20.00", "paid", 46}, // a near miss
	{5, "茶", "1.00", "paid", 50}, {5, "茶", "1.00", "paid", 50}, {5, "茶", "1.00", "paid", 50}, // at once
	{6, "tea", "10.10", "paid", 60}, {6, "tea", "10.11", "paid", 60}, // another amount
	{7, "tea", "3.00", "paid", 43201}, {7, "tea", "3.00", "paid", 43199}, // over midnight, and the later one has the smaller id
}

const (
	plantedGroups  = 4
	plantedSurplus = 6
)

// atColumn is a way to store the time.
type atColumn struct {
	name  string
	typ   map[nebis.Dialect]string
	value func(time.Time) any
}

func same(typ string) map[nebis.Dialect]string {
	return map[nebis.Dialect]string{nebis.MySQL: typ, nebis.Postgres: typ, nebis.SQLite: typ}
}

var shanghai = func() *time.Location {
	loc, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		panic(err)
	}
	return loc
}()

var atColumns = []atColumn{
	{"datetime", map[nebis.Dialect]string{nebis.MySQL: "DATETIME", nebis.Postgres: "TIMESTAMP", nebis.SQLite: "DATETIME"},
		func(at time.Time) any { return at.In(shanghai).Format(time.DateTime) }},
	{"timestamp", map[nebis.Dialect]string{nebis.MySQL: "TIMESTAMP NULL", nebis.Postgres: "TIMESTAMPTZ", nebis.SQLite: "TIMESTAMP"},
		func(at time.Time) any { return at }},
	{"microseconds", map[nebis.Dialect]string{nebis.MySQL: "DATETIME(6)", nebis.Postgres: "TIMESTAMP(6)", nebis.SQLite: "TEXT"},
		func(at time.Time) any { return at.Format("2006-01-02 15:04:05.000000") }},
	{"seconds", same("INTEGER"), func(at time.Time) any { return at.Unix() }},
	{"milliseconds", same("BIGINT"), func(at time.Time) any { return at.UnixMilli() }},
	{"microseconds since 1970", same("BIGINT"), func(at time.Time) any { return at.UnixMicro() }},
	{"nanoseconds since 1970", same("BIGINT"), func(at time.Time) any { return at.UnixNano() }},
	{"a floating point", map[nebis.Dialect]string{nebis.MySQL: "DOUBLE", nebis.Postgres: "DOUBLE PRECISION", nebis.SQLite: "REAL"},
		func(at time.Time) any { return float64(at.Unix()) }},
	{"text", same("VARCHAR(40)"), func(at time.Time) any { return at.In(shanghai).Format(time.DateTime) }},
	{"text with a zone", same("VARCHAR(40)"), func(at time.Time) any { return at.In(shanghai).Format(time.RFC3339) }},
	{"text of digits", same("VARCHAR(40)"), func(at time.Time) any { return fmt.Sprint(at.Unix()) }},
}

// plant makes the table and its rows.
func (s *shop) plant(c atColumn, index bool, orders ...order) {
	s.exec("CREATE TABLE orders (id " + s.id() + ", user_id INTEGER, item VARCHAR(40)" + s.charset() + ", amount DECIMAL(10,2), status VARCHAR(20), created_at " +
		c.typ[s.target.Dialect] + ")")
	if index {
		s.exec("CREATE INDEX by_time ON orders (created_at)")
	}
	for _, o := range orders {
		s.insert(o, c.value(o.at()))
	}
}

func (s *shop) charset() string {
	if s.target.Dialect == nebis.MySQL {
		return " CHARACTER SET utf8mb4"
	}
	return ""
}

func (s *shop) insert(o order, at any) {
	query := "INSERT INTO orders (user_id, item, amount, status, created_at) VALUES (?, ?, ?, ?, ?)"
	if s.target.Dialect == nebis.Postgres {
		query = "INSERT INTO orders (user_id, item, amount, status, created_at) VALUES ($1, $2, $3, $4, $5)"
	}
	s.exec(query, o.user, o.item, o.amount, o.status, at)
}

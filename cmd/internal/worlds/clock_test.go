package worlds

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// The clock that counts is the database's: whatever the program's clock shows,
// nothing of it is sent.
func TestNoTimeOfTheProgramIsSentToTheDatabase(t *testing.T) {
	for _, c := range dbtest.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			db := sql.OpenDB(watch(connector(t, c.Driver, c.Fresh(t)), func(query string, args []driver.NamedValue) {
				if what := timeIn(query, args); what != "" {
					t.Errorf("%s in %s", what, query)
				}
			}))
			defer db.Close()
			useEverything(t, db, c.Dialect)
		})
	}
}

// useEverything sends each statement of the library at least once.
func useEverything(t *testing.T, db *sql.DB, d nebis.Dialect) {
	s, err := nebis.New(db, d, &nebis.Options{Strict: true})
	must(t, err)
	_, err = s.Migrate(t.Context(), false)
	must(t, err)
	_, err = s.Check(t.Context())
	must(t, err)
	expire := func() {
		_, err := db.Exec("UPDATE idempotency SET expires_at = created_at")
		must(t, err)
	}
	op := nebis.Op{Scope: "order", Owner: "u1", Key: "k"}
	wantRun(t, s, op, true)
	wantRun(t, s, op, false)
	op.Recheck = func(context.Context, *sql.Tx, []byte) (bool, error) { return false, nil }
	wantRun(t, s, op, true)
	expire()
	wantRun(t, s, op, true)
	for _, want := range []bool{true, false} {
		expire()
		tx, err := db.Begin()
		must(t, err)
		for _, ran := range []bool{want, false} {
			_, replayed, err := nebis.DoTx(t.Context(), s, tx, nebis.Op{Scope: "order", Owner: "u1", Key: "tx", Keep: time.Hour}, one)
			if err != nil || want && replayed == ran {
				t.Errorf("DoTx: replayed %v, error %v", replayed, err)
			}
		}
		must(t, tx.Commit())
	}
	expire()
	if n, err := s.Purge(t.Context(), 10); n != 2 || err != nil {
		t.Errorf("purged %d, error %v", n, err)
	}
	useLeases(t, db, s)
}

func one(context.Context) (int, error) { return 1, nil }

func wantRun(t *testing.T, s *nebis.Store, op nebis.Op, want bool) {
	t.Helper()
	_, replayed, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (int, error) { return 1, nil })
	if err != nil || replayed == want {
		t.Errorf("replayed %v, error %v", replayed, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The test above can see a time: in an argument, in a text, as a number.
func TestTheWatchSeesATime(t *testing.T) {
	now := time.Now()
	for _, v := range []any{now, now.Format(time.DateTime), now.UTC().Format(time.RFC3339Nano), now.Unix(), now.UnixMilli(), now.UnixMicro(), now.UnixNano()} {
		if timeIn("SELECT ?", []driver.NamedValue{{Value: v}}) == "" {
			t.Errorf("%T %v is not seen", v, v)
		}
	}
	if timeIn("SELECT '"+now.Format(time.DateTime)+"'", nil) == "" {
		t.Error("a time in the text is not seen")
	}
	if what := timeIn("SELECT ?", []driver.NamedValue{{Value: int64(35 * 24 * time.Hour / time.Microsecond)}, {Value: "f:1"}}); what != "" {
		t.Error(what)
	}
}

// Three processes whose sessions are in three time zones agree on what has
// expired.
func TestSessionsInThreeTimeZonesAgreeOnWhatHasExpired(t *testing.T) {
	zones := map[dbtest.Kind][3]string{
		dbtest.MariaDB:  {"time_zone='%2B08:00'&parseTime=true&loc=Asia%2FShanghai", "time_zone='-05:00'", "time_zone='%2B00:00'"},
		dbtest.MySQL:    {"time_zone='%2B08:00'&parseTime=true&loc=Asia%2FShanghai", "time_zone='-05:00'", "time_zone='%2B00:00'"},
		dbtest.Postgres: {"timezone=Asia/Shanghai", "timezone=America/Lima", "timezone=UTC"},
		dbtest.SQLite:   {"_loc=Asia%2FShanghai", "_loc=America%2FLima", "_loc=UTC"}, // which only its driver knows
	}
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "postgres-pq", "sqlite-mattn"} {
		t.Run(name, func(t *testing.T) {
			c := dbtest.Lookup(name)
			dsn := c.Fresh(t)
			var stores [3]*nebis.Store
			for i, zone := range zones[c.Kind] {
				var err error
				stores[i], err = nebis.New(c.Pool(t, extend(dsn, zone)), c.Dialect, nil)
				must(t, err)
			}
			_, err := stores[0].Migrate(t.Context(), false)
			must(t, err)
			for first := range stores {
				agree(t, stores, first)
			}
		})
	}
}

// agree does one key that stays for an hour and one that goes at once, first in
// one zone.
func agree(t *testing.T, stores [3]*nebis.Store, first int) {
	key := strings.Repeat("k", first+1)
	stays := nebis.Op{Scope: "stays", Owner: "u1", Key: key, Keep: time.Hour}
	goes := nebis.Op{Scope: "goes", Owner: "u1", Key: key, Keep: time.Microsecond}
	agreeOnLeases(t, stores, first, key)
	wantRun(t, stores[first], stays, true)
	wantRun(t, stores[first], goes, true)
	for _, s := range stores {
		wantRun(t, s, goes, true)
		wantRun(t, s, stays, false)
		if _, err := s.Purge(t.Context(), 10); err != nil {
			t.Error(err)
		}
		wantRun(t, s, stays, false)
	}
}

package suite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// Whatever the connection's charset is, a replay is the first result: "utf8" has
// no emoji, latin1 no Chinese.
func TestAnAnswerDoesNotGoThroughTheConnectionsCharset(t *testing.T) {
	const tea = `茶 😀 "é" \ end`
	answer := func(context.Context, *sql.Tx) (string, error) { return tea, nil }
	for _, name := range []string{"mariadb", "mysql56"} {
		c := dbtest.Lookup(name)
		dsn := c.Fresh(t)
		with := func(options string) *sql.DB { return c.Pool(t, dsn+"?"+options) }
		createTables(t, with("charset=utf8mb4"), c)
		for _, options := range []string{"charset=utf8", "charset=latin1", "charset=gbk", "charset=utf8&sql_mode=%27%27", "charset=utf8&interpolateParams=true", "charset=utf8mb4"} {
			t.Run(name+" "+options, func(t *testing.T) {
				for i, read := range []string{options, "charset=utf8mb4", "charset=latin1"} {
					first, err := nebis.New(with(options), c.Dialect, nil)
					must(t, err)
					again, err := nebis.New(with(read), c.Dialect, nil)
					must(t, err)
					op := nebis.Op{Scope: "s", Owner: "o", Key: fmt.Sprint(options, i)}
					v, _, err := nebis.Do(t.Context(), first, op, answer)
					w, replayed, err2 := nebis.Do(t.Context(), again, op, answer)
					if v != tea || w != tea || !replayed || err != nil || err2 != nil {
						t.Errorf("read by %s: %q, %q %t, %v, %v", read, v, w, replayed, err, err2)
					}
				}
			})
		}
	}
}

// Two owners with one key, where the old code's index is in the way: the server's
// error quotes the key, cut to 64 characters.
func TestNoPartOfALongKeyIsInAnErrorsText(t *testing.T) {
	for _, name := range []string{"mariadb", "mysql56", "postgres-pgx", "sqlite-modernc"} {
		t.Run(name, func(t *testing.T) {
			db, s := setup(t, name, nil)
			_, err := db.Exec("CREATE UNIQUE INDEX old_index ON idempotency (idem_key, scope)")
			must(t, err)
			for _, key := range []string{"SECRET-" + strings.Repeat("k", 230), "SECRET'" + strings.Repeat("'k", 50)} {
				a := nebis.Op{Scope: "s", Owner: "SECRET-owner", Key: key}
				b := a
				b.Owner = "SECRET-" + strings.Repeat("o", 100)
				_, _, err = nebis.Do(t.Context(), s, a, one)
				must(t, err)
				if _, _, err = nebis.Do(t.Context(), s, b, one); err == nil || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func TestCheckTellsOfSessionsThatReadWhatIsNotCommittedOrBeginByThemselves(t *testing.T) {
	for option, code := range map[string]string{"tx_isolation=%27READ-UNCOMMITTED%27": "read-uncommitted", "autocommit=0": "autocommit-off"} {
		for _, name := range []string{"mariadb", "mysql56"} {
			c := dbtest.Lookup(name).With(option)
			db := c.Open(t)
			s, err := nebis.New(db, c.Dialect, &nebis.Options{Isolation: sql.LevelRepeatableRead})
			must(t, err)
			found, err := s.Check(t.Context())
			must(t, err)
			if !slices.ContainsFunc(found, func(f nebis.Finding) bool { return f.Code == code && f.Level == nebis.Problem }) {
				t.Errorf("%s, %s: %v", name, option, found)
			}
		}
	}
}

package worlds

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"
	"slices"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A retry in the process that has seen its key done reads one row, by the whole
// unique index, and that is all.
func TestARetryIsOneStatement(t *testing.T) {
	crowded(t, func(t *testing.T, c dbtest.Config) {
		for name, o := range map[string]*nebis.Options{"prepared": nil, "as text": {Unprepared: true}} {
			t.Run(name, func(t *testing.T) { testRetry(t, c, o) })
		}
	})
}

var byIndex = regexp.MustCompile(`(?s)^SELECT id, .*\WWHERE idem_key = (\?|\$1) AND scope = (\?|\$2) AND owner = (\?|\$3)$`)

func testRetry(t *testing.T, c dbtest.Config, o *nebis.Options) {
	dsn := c.Fresh(t)
	connect(t, c, [2]string{dsn, dsn}, nil)
	var sent []string
	db := sql.OpenDB(watch(connector(t, c.Driver, dsn), func(query string, _ []driver.NamedValue) {
		sent = append(sent, query)
	}))
	defer db.Close()
	db.SetMaxOpenConns(1)
	s, err := nebis.New(db, c.Dialect, o)
	must(t, err)
	op := nebis.Op{Scope: "order", Owner: "u1", Key: "k"}
	wantAnswer(t, s, op, "tea")
	// Old enough to be on disk for sure, wherever that has to be asked.
	_, err = db.ExecContext(t.Context(), "UPDATE idempotency SET updated_at = '2001-01-01 00:00:00'")
	must(t, err)
	sent = nil
	got, replayed, err := nebis.Do(t.Context(), s, op, func(context.Context, *sql.Tx) (string, error) { return "coffee", nil })
	if got != "tea" || !replayed || err != nil {
		t.Errorf("answer %q, replayed %v, error %v", got, replayed, err)
	}
	// A driver may want a text prepared before it is sent.
	if sent = slices.Compact(sent); len(sent) != 1 || !byIndex.MatchString(sent[0]) {
		t.Errorf("it sent %q", sent)
	}
}

package httptests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func TestRecheckReplaysOrLetsTheOperationRunAgain(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		asked := 0
		var broken error
		route := &nebishttp.Route{Recheck: func(ctx context.Context, tx *sql.Tx, status int, header http.Header, body []byte) (bool, error) {
			asked++
			if status != 201 || header.Get("Location") != fmt.Sprintf("/orders/%s", body[len("order "):]) {
				t.Errorf("asked about %d %v %q", status, header, body)
			}
			var n int
			err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM orders WHERE item = 'tea'`).Scan(&n)
			return n > 0, errors.Join(err, broken)
		}}
		s := orders(t, c, route, nil)
		s.want(s.send("/", "", key, "k"), 201, "created")
		s.want(s.send("/", "", key, "k"), 201, "replayed")
		if _, err := s.db.Exec(`UPDATE orders SET item = 'cancelled'`); err != nil {
			t.Fatal(err)
		}
		broken = errors.New("secret")
		s.want(s.send("/", "", key, "k"), 503, "unavailable")
		broken = nil
		if p := s.send("/", "", key, "k"); p.body != "order 2" {
			t.Errorf("after it was cancelled: got %d %s", p.status, p.body)
		}
		if p := s.send("/", "", key, "k"); p.body != "order 2" || p.outcome() != "replayed" {
			t.Errorf("after it ran again: got %d %s", p.status, p.body)
		}
		s.wantOrders(2)
		if asked != 4 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestRecheckIsNotAskedAboutAnAnswerThatWasNotKept(t *testing.T) {
	route := &nebishttp.Route{MaxAnswer: 1, Recheck: func(context.Context, *sql.Tx, int, http.Header, []byte) (bool, error) {
		t.Error("asked")
		return false, nil
	}}
	s := orders(t, sqlite, route, nil)
	s.want(s.send("/", "", key, "k"), 201, "created")
	s.want(s.send("/", "", key, "k"), 410, "not-kept")
	s.wantOrders(1)
}

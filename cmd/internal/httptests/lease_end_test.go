package httptests

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/nebishttp"
)

func TestWithoutAKeyALeasedHandlerRunsEachTime(t *testing.T) {
	s := leased(t, sqlite, nil, answers(500, "as it is"))
	for range 2 {
		p := s.send("/", "")
		s.want(p, 500, "")
		if p.body != "as it is" {
			t.Error(p.body)
		}
	}
	s.wantRuns(2)
	s = leased(t, sqlite, &nebishttp.Route{Required: true}, answers(200, ""))
	s.want(s.send("/", ""), 400, "invalid")
	s.wantRuns(0)
	s = leased(t, sqlite, nil, func(http.ResponseWriter, *http.Request) { panic("broken") })
	s.want(s.send("/", ""), 500, "")
}

func TestADatabaseThatIsAwayStopsALeasedHandlerUnlessTheRouteSaysOtherwise(t *testing.T) {
	for open, want := range map[bool]int{false: 503, true: 201} {
		s := leased(t, sqlite, &nebishttp.Route{FailOpen: open}, answers(201, ""))
		_ = s.db.Close()
		p := s.send("/", "", key, "k")
		if p.status != want {
			t.Errorf("open %v: %d %s", open, p.status, p.body)
		}
		if open && p.outcome() != "" {
			t.Errorf("it says %q of a key that nobody has", p.outcome())
		}
	}
}

// The database goes away while the handler runs: what it has done stays done.
func TestAnAnswerThatCannotBeStoredIsSentAndTheWorkNotDoneAgain(t *testing.T) {
	var s *site
	s = leased(t, sqlite, nil, func(w http.ResponseWriter, _ *http.Request) {
		if _, err := s.db.ExecContext(context.Background(), `ALTER TABLE idempotency RENAME TO away`); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "paid")
	})
	p := s.send("/", "", key, "k")
	if p.status != 200 || p.body != "paid" {
		t.Errorf("%d %s", p.status, p.body)
	}
	if _, err := s.db.ExecContext(t.Context(), `ALTER TABLE away RENAME TO idempotency`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), `UPDATE idempotency SET lease_until = created_at`); err != nil { // its lease is over
		t.Fatal(err)
	}
	s.want(s.send("/", "", key, "k"), 409, "unknown")
	s.wantRuns(1)
}

// What a handler panics with may be anything, a card's number too.
func TestThePanicOfALeasedHandlerIsNotInTheTable(t *testing.T) {
	s := leased(t, sqlite, nil, func(http.ResponseWriter, *http.Request) { panic("card 4111") })
	s.send("/", "", key, "k")
	var text string
	if err := s.db.QueryRowContext(t.Context(), `SELECT error FROM idempotency`).Scan(&text); err != nil || text != "nebishttp: the handler panicked" {
		t.Errorf("%q, %v", text, err)
	}
}

// Its fields would come back in another charset than its page's.
func TestAFormInGBKIsNotOfferedAgain(t *testing.T) {
	s := leased(t, sqlite, nil, answers(500, ""))
	p := s.send("/", "idempotency_key=k&item=%B2%E8", ctype, form, "Accept", html)
	s.want(p, 409, "unknown")
	if strings.Contains(p.body, "<button>") {
		t.Error(p.body)
	}
}

func TestWithoutAKeyNoAnswerSpeaksOfOne(t *testing.T) {
	flushes := func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }
	s := leased(t, sqlite, nil, flushes)
	s.want(s.send("/", ""), 200, "")
	s = leased(t, sqlite, &nebishttp.Route{FailOpen: true}, func(http.ResponseWriter, *http.Request) { panic("broken") })
	_ = s.db.Close()
	s.want(s.send("/", "", key, "k"), 500, "")
}

func TestALeaseThatCannotBeIsRefusedAtTheStart(t *testing.T) {
	s := newSite(t, sqlite, nil, func(*site, *http.ServeMux) {})
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "Recheck") {
			t.Errorf("%v", v)
		}
	}()
	s.m.Lease("pay", &nebishttp.Route{Recheck: recheckNever})
}

func recheckNever(context.Context, *sql.Tx, int, http.Header, []byte) (bool, error) { return true, nil }

const longWait = time.Minute

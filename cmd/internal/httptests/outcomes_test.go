package httptests

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/nebishttp"
)

var update = flag.Bool("update", false, "write what was observed into docs/outcomes.md")

const outcomesPage = "../../../docs/outcomes.md"

// end is a way in which a handler ends.
type end struct{ name, writes, calls string }

var (
	ends   = []string{"returns nil", "returns an error", "panics"}
	writes = []string{"nothing", "200", "303", "422", "500"}
	calls  = []string{"", "`Keep`", "`Discard`"}
)

// handle does what e says; late has Keep and Discard called after writing.
func (e end) handle(w http.ResponseWriter, late bool) error {
	verdict := func() {
		switch e.calls {
		case "`Keep`":
			nebishttp.Keep(w)
		case "`Discard`":
			nebishttp.Discard(w)
		}
	}
	if !late {
		verdict()
	}
	if e.writes != "nothing" {
		var status int
		_, _ = fmt.Sscan(e.writes, &status)
		w.WriteHeader(status)
	}
	if late {
		verdict()
	}
	switch e.name {
	case "panics":
		panic("on purpose")
	case "returns an error":
		return errors.New("on purpose")
	}
	return nil
}

// observe sends a request that ends so, and tells what became of it.
func (s *site) observe(path string) string {
	s.t.Helper()
	before := s.count()
	first := s.send(path, "", key, "k")
	fate := "rolled back"
	if s.count() > before {
		fate = "committed"
	}
	runs := s.ran.Load()
	again := s.send(path, "", key, "k")
	next := "runs again"
	if s.ran.Load() == runs {
		next = "is replayed"
	}
	if next == "is replayed" && (again.status != first.status || again.outcome() != "replayed") {
		s.t.Errorf("%s: first %d, then %d %s", path, first.status, again.status, again.outcome())
	}
	status := first.outcome()
	if status == "" {
		status = "–"
	}
	return fmt.Sprintf("%s | %d | %s | %s", fate, first.status, status, next)
}

// observeAll is a site whose handler ends as e says, in every way that must make
// no difference: through Tx and Wrap, with Keep or Discard before and after writing.
func observeAll(t *testing.T, e end, route *nebishttp.Route) string {
	t.Helper()
	s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
		tx := func(late bool) handler {
			return s.place(func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error { return e.handle(w, late) })
		}
		mux.Handle("/tx", s.m.Tx("early", tx(false), route))
		mux.Handle("/late", s.m.Tx("late", tx(true), route))
		mux.Handle("/wrap", s.m.Wrap("wrap", route)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = tx(false)(w, r, nebishttp.TxFrom(r.Context()))
		})))
	})
	got := s.observe("/tx")
	if late := s.observe("/late"); late != got {
		t.Errorf("%+v: %s before writing, %s after", e, got, late)
	}
	if silent := e.writes == "nothing" && e.calls == ""; e.name != "returns an error" && !silent {
		if wrap := s.observe("/wrap"); wrap != got {
			t.Errorf("%+v: Tx %s, Wrap %s", e, got, wrap)
		}
	} else if silent && e.name == "returns nil" {
		if wrap := s.observe("/wrap"); wrap != "rolled back | 500 | released | runs again" {
			t.Errorf("behind Wrap, silent: %s", wrap)
		}
	}
	return got
}

// TestThePageOfOutcomesSaysWhatHappens runs every combination and compares what it
// saw with the page, line by line.
func TestThePageOfOutcomesSaysWhatHappens(t *testing.T) {
	var table bytes.Buffer
	for _, name := range ends {
		fmt.Fprintf(&table, "\nThe handler **%s**:\n\n| has written | calls | transaction | client sees | Idempotency-Status | the same key again |\n|---|---|---|---|---|---|\n", name)
		for _, w := range writes {
			for _, c := range calls {
				fmt.Fprintf(&table, "| %s | %s | %s |\n", w, orDash(c), observeAll(t, end{name, w, c}, nil))
			}
		}
	}
	table.WriteString("\n")
	comparePage(t, "combinations", table.String())
}

// TestThePageOfOutcomesSaysWhatARuleDoes does the same with Route.Commit.
func TestThePageOfOutcomesSaysWhatARuleDoes(t *testing.T) {
	var table bytes.Buffer
	table.WriteString("\n| rule says | has written | calls | transaction | client sees | Idempotency-Status | the same key again |\n|---|---|---|---|---|---|---|\n")
	for _, commit := range []bool{true, false} {
		route := &nebishttp.Route{Commit: func(int, http.Header, []byte) bool { return commit }}
		for _, w := range []string{"200", "422"} {
			for _, c := range calls {
				fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", map[bool]string{true: "commit", false: "roll back"}[commit], w, orDash(c), observeAll(t, end{"returns nil", w, c}, route))
			}
		}
	}
	table.WriteString("\n")
	comparePage(t, "rule", table.String())
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// comparePage compares a part of the page, between two comments, with want.
func comparePage(t *testing.T, part, want string) {
	t.Helper()
	page, err := os.ReadFile(outcomesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, okBegin := strings.Cut(string(page), "<!-- "+part+": begin -->\n")
	got, after, okEnd := strings.Cut(rest, "<!-- "+part+": end -->")
	if !okBegin || !okEnd {
		t.Fatalf("the page has no part %q", part)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("docs/outcomes.md is not what happens (go test -update writes it):\n%s", want)
	}
	page = []byte(before + "<!-- " + part + ": begin -->\n" + want + "<!-- " + part + ": end -->" + after)
	if err := os.WriteFile(outcomesPage, page, 0o644); err != nil {
		t.Fatal(err)
	}
}

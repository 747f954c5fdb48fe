package httptests

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/nebishttp"
)

// line is one element of a batch.
type line struct {
	Line any    `json:"line"`
	Item string `json:"item"`
	Fail string `json:"fail,omitempty"`
	At   int    `json:"at,omitempty"`
}

// receipt is its result.
type receipt struct {
	Run  int64  `json:"run"`
	Item string `json:"item"`
}

// told is what an answer says of one row.
type told struct {
	Row    any               `json:"row"`
	Status string            `json:"status"`
	Result *receipt          `json:"result"`
	Error  nebishttp.Problem `json:"error"`
}

// batches is a site that takes batches of orders. A row fails in the way that it asks
// for, as long as failing says so.
func batches(t *testing.T, c dbtest.Config, failing func(l line) error, o *nebishttp.BatchRoute) *site {
	t.Helper()
	return newSite(t, c, nil, func(s *site, mux *http.ServeMux) {
		mux.Handle("/", nebishttp.Batch(s.m, "order", func(r *http.Request, tx *sql.Tx, l line) (receipt, error) {
			n := s.ran.Add(1)
			if _, err := nebishttp.TxFrom(r.Context()).ExecContext(r.Context(), `INSERT INTO orders (item) VALUES ('tea')`); err != nil {
				return receipt{}, err
			}
			if failing != nil {
				if err := failing(l); err != nil {
					return receipt{}, err
				}
			}
			return receipt{n, l.Item}, r.Context().Err()
		}, o))
	})
}

var byLine = &nebishttp.BatchRoute{Row: "line", Ignore: []string{"at"}}

func (s *site) batch(k string, lines any, pairs ...string) (reply, []told) {
	s.t.Helper()
	body, err := json.Marshal(lines)
	if err != nil {
		s.t.Fatal(err)
	}
	p := s.send("/orders/batch", string(body), append(pairs, ctype, js, key, k)...)
	if p.status != 200 {
		return p, nil
	}
	var rows []told
	if err := json.Unmarshal([]byte(p.body), &rows); err != nil {
		s.t.Fatalf("%v: %s", err, p.body)
	}
	return p, rows
}

func lines(n int) []line {
	list := make([]line, n)
	for i := range list {
		list[i] = line{Line: fmt.Sprint("A-", i+1), Item: fmt.Sprint("item ", i+1)}
	}
	return list
}

func statuses(rows []told) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Status]++
	}
	return n
}

// Case 52.
func TestABatchSentAgainRunsOnlyWhatFailed(t *testing.T) {
	each(t, func(t *testing.T, c dbtest.Config) {
		first := true
		s := batches(t, c, func(l line) error {
			if first && (l.Line == "A-7" || l.Line == "A-20") {
				return nebishttp.RowError("not today")
			}
			return nil
		}, byLine)
		list := lines(50)
		p, rows := s.batch("k", list)
		s.want(p, 200, "released")
		if got := statuses(rows); got["created"] != 48 || got["failed"] != 2 || rows[6].Status != "failed" || rows[19].Error.Detail != "not today" {
			t.Errorf("%v: %s", got, p.body)
		}
		s.wantOrders(48)
		first = false
		p, second := s.batch("k", list)
		s.want(p, 200, "created")
		if got := statuses(second); got["replayed"] != 48 || got["created"] != 2 {
			t.Errorf("%v", got)
		}
		slices.Reverse(list)
		p, third := s.batch("k", list)
		s.want(p, 200, "replayed")
		if p.header.Get("Idempotent-Replayed") != "true" {
			t.Error(p.header)
		}
		slices.Reverse(third)
		for i := range third {
			if third[i].Row != second[i].Row || third[i].Result.Item != fmt.Sprint("item ", i+1) || *third[i].Result != *second[i].Result {
				t.Errorf("%v and %v", third[i], second[i])
			}
		}
		s.wantOrders(50)
		if n := s.ran.Load(); n != 52 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestABatchThatIsNoneIsRefusedBeforeAnySQL(t *testing.T) {
	s := batches(t, sqlite, nil, &nebishttp.BatchRoute{Row: "line", MaxRows: 3, MaxRequest: 200})
	_ = s.db.Close() // with SQL it would be 503
	for name, c := range map[string]struct {
		body, kind, key string
		status          int
		problem         string
	}{
		"no key":          {`[{"line":1}]`, js, "", 400, "key-missing"},
		"a long key":      {`[{"line":1}]`, js, strings.Repeat("k", 190), 400, "key-malformed"},
		"a bad key":       {`[{"line":1}]`, js, "undefined", 400, "key-malformed"},
		"too many rows":   {`[{"line":1},{"line":2},{"line":3},{"line":4}]`, js, "k", 413, "too-many-rows"},
		"too large":       {`[` + strings.Repeat(" ", 200) + `]`, js, "k", 413, "body-too-large"},
		"an object":       {`{"line":1}`, js, "k", 400, "batch-malformed"},
		"null":            {`null`, js, "k", 400, "batch-malformed"},
		"nothing":         {``, js, "k", 400, "batch-malformed"},
		"broken":          {`[{"line":1}`, js, "k", 400, "batch-malformed"},
		"two arrays":      {`[] []`, js, "k", 400, "batch-malformed"},
		"bad UTF-8":       {"[{\"line\":\"\xff\"}]", js, "k", 400, "batch-malformed"},
		"no name":         {`[{"line":1},{"item":"x"}]`, js, "k", 400, "batch-malformed"},
		"an empty name":   {`[{"line":""}]`, js, "k", 400, "batch-malformed"},
		"a fraction":      {`[{"line":1.5}]`, js, "k", 400, "batch-malformed"},
		"null for a name": {`[{"line":null}]`, js, "k", 400, "batch-malformed"},
		"an element null": {`[null]`, js, "k", 400, "batch-malformed"},
		"a text":          {`["line"]`, js, "k", 400, "batch-malformed"},
		"twice":           {`[{"line":"7"},{"line":1},{"line":7}]`, js, "k", 400, "batch-malformed"},
		"a form":          {`line=1`, form, "k", 415, "not-json"},
		"text":            {`[{"line":1}]`, "text/plain", "k", 415, "not-json"},
	} {
		pairs := []string{ctype, c.kind}
		if c.key != "" {
			pairs = append(pairs, key, c.key)
		}
		p := s.send("/", c.body, pairs...)
		if p.status != c.status || p.outcome() != "invalid" || !strings.Contains(p.body, "urn:nebis:problem:"+c.problem) || p.header.Get(ctype) != "application/problem+json" {
			t.Errorf("%s: got %d %q: %s", name, p.status, p.outcome(), p.body)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if p, err := s.try(method, "/", strings.NewReader(`[]`), ctype, js, key, "k"); err != nil || p.status != 405 || p.header.Get("Allow") != "POST" {
			t.Error(method, p, err)
		}
	}
	if p := s.send("/", `[{"line":1},{"line":2},{"line":1}]`, ctype, js, key, "k"); !strings.Contains(p.body, `Elements 0 and 2 have the same \"line\".`) {
		t.Error(p.body)
	}
	if p := s.send("/", `[{"line":1}]`, ctype, js, key, strings.Repeat("k", 190)); !strings.Contains(p.body, "189") {
		t.Error(p.body)
	}
	if n := s.ran.Load(); n != 0 {
		t.Errorf("%d rows ran", n)
	}
}

func TestTheStoresLimitOfRowsIs413(t *testing.T) {
	s := batches(t, sqlite, nil, &nebishttp.BatchRoute{MaxRows: 2000})
	p, _ := s.batch("k", make([]int, 1001))
	s.want(p, 413, "invalid")
}

func TestARowsErrorTellsTheClientOnlyWhatIsMeantForIt(t *testing.T) {
	s := batches(t, sqlite, func(l line) error {
		switch l.Fail {
		case "shown":
			return fmt.Errorf("SECRET: %w", nebishttp.RowError("sold out"))
		case "hidden":
			return errors.New("SECRET")
		case "panic":
			panic("SECRET")
		case "busy":
			return fmt.Errorf("SECRET: %w", nebis.ErrBusy)
		}
		return nil
	}, byLine)
	p, rows := s.batch("k", []any{
		line{Line: 1, Fail: "shown"}, line{Line: 2, Fail: "hidden"}, line{Line: 3, Fail: "panic"}, line{Line: 4, Fail: "busy"},
		map[string]any{"line": 5, "item": []int{1}}, line{Line: 6, Item: "tea"},
	})
	s.want(p, 200, "released")
	for i, want := range []nebishttp.Problem{
		{Status: 422, Type: "urn:nebis:problem:row-refused", Detail: "sold out"},
		{Status: 500, Type: "about:blank"}, {Status: 500, Type: "about:blank"},
		{Status: 503, Type: "urn:nebis:problem:unavailable"},
		{Status: 422, Type: "urn:nebis:problem:row-refused", Detail: `"item" cannot be a array`},
	} {
		got := rows[i]
		if got.Status != "failed" || got.Result != nil || got.Row != float64(i+1) || got.Error.Status != want.Status || got.Error.Type != want.Type ||
			want.Detail != "" && got.Error.Detail != want.Detail {
			t.Errorf("row %d: %+v", i+1, got)
		}
	}
	if rows[5].Status != "created" || rows[5].Result.Item != "tea" || strings.Contains(p.body, "SECRET") {
		t.Error(p.body)
	}
	s.wantOrders(1)
}

func TestARowIsComparedByItsMeaningAndAlone(t *testing.T) {
	s := batches(t, sqlite, nil, byLine)
	s.batch("k", []line{{Line: 1, Item: "a", At: 1}, {Line: "x", Item: "b", At: 1}})
	p := s.send("/orders/batch", `[ {"at":2, "item":"\u0062", "line":"x"}, {"item":"other","line":1} ]`, ctype, js, key, "k")
	s.want(p, 200, "released")
	var rows []told
	if err := json.Unmarshal([]byte(p.body), &rows); err != nil {
		t.Fatal(err)
	}
	if rows[0].Status != "replayed" || rows[0].Result.Item != "b" || rows[1].Status != "failed" || rows[1].Error.Status != 422 || rows[1].Error.Type != "urn:nebis:problem:mismatch" {
		t.Error(p.body)
	}
	s.wantOrders(2)
}

func TestWithoutANameARowIsItsPlace(t *testing.T) {
	s := batches(t, sqlite, nil, nil)
	list := []line{{Item: "a"}, {Item: "b"}}
	s.batch("k", list)
	p, rows := s.batch("k", append(list, line{Item: "c"}))
	s.want(p, 200, "created")
	for i, want := range []string{"replayed", "replayed", "created"} {
		if rows[i].Row != float64(i) || rows[i].Status != want {
			t.Errorf("%v", rows[i])
		}
	}
	slices.Reverse(list)
	if _, rows := s.batch("k", list); rows[0].Error.Status != 422 || rows[1].Error.Status != 422 {
		t.Errorf("%v", rows)
	}
	p, _ = s.batch("empty", []line{})
	s.want(p, 200, "created")
	if p.body != "[]\n" {
		t.Error(p.body)
	}
	s.wantOrders(3)
}

func TestTwoOwnersShareNoRows(t *testing.T) {
	s := batches(t, sqlite, nil, byLine)
	for _, user := range []string{"li", "wang"} {
		p, _ := s.batch("k", lines(2), "User", user)
		s.want(p, 200, "created")
	}
	s.wantOrders(4)
}

func TestAMalformedBatchRoutePanics(t *testing.T) {
	s := orders(t, sqlite, nil, nil)
	for name, make := range map[string]func(){
		"no scope": func() {
			nebishttp.Batch(s.m, "", func(*http.Request, *sql.Tx, line) (int, error) { return 0, nil }, nil)
		},
		"negative rows": func() {
			nebishttp.Batch(s.m, "s", func(*http.Request, *sql.Tx, line) (int, error) { return 0, nil }, &nebishttp.BatchRoute{MaxRows: -1})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", name)
				}
			}()
			make()
		}()
	}
}

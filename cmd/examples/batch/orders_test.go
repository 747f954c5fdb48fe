package batch

import (
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
	"github.com/nebis-dev/nebis/nebishttp"
)

func docs(t *testing.T) string { return exampletest.Page(t, "docs/batch.md") }

func TestTheDocsHaveThisCode(t *testing.T) {
	for _, part := range []string{"// Import books", "// Handler takes"} {
		_, code, _ := strings.Cut(exampletest.Source(t, "orders.go"), part)
		code, _, _ = strings.Cut(code, "\n}\n")
		exampletest.HasCode(t, part+code+"\n}\n", "docs/batch.md")
	}
}

func TestTheChinesePageHasTheSameCode(t *testing.T) { exampletest.SameCode(t, "batch") }

func setup(t *testing.T) (*sql.DB, *nebis.Store) {
	t.Helper()
	c := dbtest.Lookup("sqlite-modernc")
	db := c.Open(t)
	store, err := nebis.New(db, c.Dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Migrate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE stock (sku TEXT, qty INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return db, store
}

func wantStock(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM stock").Scan(&n); err != nil || n != want {
		t.Errorf("%d rows in stock, %v; want %d", n, err, want)
	}
}

func TestAFileIsBookedOnceThoughARowIsCorrected(t *testing.T) {
	db, store := setup(t)
	var rows []nebis.Row[Line]
	for i := range 5 {
		rows = append(rows, nebis.Row[Line]{Key: fmt.Sprint(i), In: Line{i, "tea", i}}) // the first has none
	}
	if _, err := Import(t.Context(), store, "note 17", rows); err == nil {
		t.Error("a blank in a key is taken")
	}
	failed, err := Import(t.Context(), store, "note-17", rows)
	if err != nil || len(failed) != 1 || failed[0].Key != "0" {
		t.Error(failed, err)
	}
	wantStock(t, db, 4)
	rows[0].In.Qty = 3
	for range 2 {
		if failed, err = Import(t.Context(), store, "note-17", rows); err != nil || len(failed) != 0 {
			t.Error(failed, err)
		}
		wantStock(t, db, 5)
	}
}

// What the docs show as sent and answered.
func TestTheDocsAnswersAreTrue(t *testing.T) {
	db, store := setup(t)
	m := nebishttp.New(store, func(*http.Request) (string, error) { return nebis.Anyone, nil },
		&nebishttp.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	srv := httptest.NewServer(Handler(m))
	defer srv.Close()
	blocks := strings.Split(docs(t), "```json\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d JSON blocks in the docs", len(blocks))
	}
	body, _, _ := strings.Cut(blocks[0], "```")
	want, _, _ := strings.Cut(blocks[1], "```")
	r, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL, strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"note-17"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || strings.Join(strings.Fields(string(got)), "") != strings.Join(strings.Fields(want), "") {
		t.Errorf("%s %s, %v; the docs say %s", res.Status, got, err, want)
	}
	wantStock(t, db, 2)
}

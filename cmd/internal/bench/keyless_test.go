package bench

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

func ok(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusOK)
}

// BenchmarkKeylessPOST is what a JSON POST without a key pays on SQLite, beside the
// same handler in a transaction by hand, and alone. The handler writes nothing: the
// disk would hide the difference.
func BenchmarkKeylessPOST(b *testing.B) {
	m := setUp(b, "sqlite-modernc")
	guard := nebishttp.New(m.store, func(*http.Request) (string, error) { return nebis.Anyone, nil }, nil)
	for _, c := range []struct {
		name string
		h    http.Handler
	}{
		{"guarded", guard.Wrap("order", nil)(http.HandlerFunc(ok))},
		{"by-hand", byHand(m.db, ok)},
		{"alone", http.HandlerFunc(ok)},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := `{"item":"tea","qty":1}`
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/orders", nil) // one that can end, as a server's does
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = int64(len(body))
			w := nowhere{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(body))
				c.h.ServeHTTP(w, r)
			}
		})
	}
}

// byHand is what a site does without us.
func byHand(db *sql.DB, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tx, err := db.BeginTx(r.Context(), nil)
		if err != nil {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		defer tx.Rollback()
		next(w, r)
		_ = tx.Commit()
	})
}

package nebishttp

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

func ok(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusOK)
}

// BenchmarkGET is what a read pays: under 200 ns and no allocation.
func BenchmarkGET(b *testing.B) {
	h := guard(b, &fake{}, anyone, nil).Wrap("order", nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest(http.MethodGet, "/orders/1", nil)
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

// BenchmarkKeylessPOST is what a JSON POST without a key pays, on a database that
// answers at once, beside the same handler in a transaction by hand, and alone.
func BenchmarkKeylessPOST(b *testing.B) {
	body := `{"item":"tea","qty":1}`
	db := sql.OpenDB(&fake{})
	defer db.Close()
	for _, c := range []struct {
		name string
		h    http.Handler
	}{
		{"guarded", guard(b, &fake{}, anyone, nil).Wrap("order", nil)(http.HandlerFunc(ok))},
		{"by-hand", byHand(db, ok)},
		{"alone", http.HandlerFunc(ok)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := post(jsonType, body)
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

// BenchmarkFingerprint digests a JSON body of 1 kB.
func BenchmarkFingerprint(b *testing.B) {
	rt := testRoute(nil)
	body := []byte(`{"items":[` + strings.Repeat(`{"code":"tea","qty":1,"price":"10.00"},`, 25) + `{}]}`)
	q := &request{r: post(jsonType, ""), body: body}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		rt.digest.of(q)
	}
}

func TestAGETCostsNoAllocation(t *testing.T) {
	h := guard(t, &fake{}, anyone, nil).Wrap("order", nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest(http.MethodGet, "/orders/1", nil)
	w := nowhere{http.Header{}}
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package nebishttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// passing is a guarded handler that does nothing. Its store is on no database: a
// GET never asks it.
func passing() http.Handler {
	m := New(new(nebis.Store), anyone, nil)
	return m.Wrap("order", nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// BenchmarkGET is what a read pays: under 200 ns and no allocation.
func BenchmarkGET(b *testing.B) {
	h := passing()
	r := httptest.NewRequest(http.MethodGet, "/orders/1", nil)
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
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
	h := passing()
	r := httptest.NewRequest(http.MethodGet, "/orders/1", nil)
	w := nowhere{http.Header{}}
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

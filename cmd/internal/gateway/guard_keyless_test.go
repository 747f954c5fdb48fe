package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A pattern under forms that does not fit its page lets every write through, and
// nothing else would tell.
func TestAWriteWithoutAKeyIsToldOnce(t *testing.T) {
	c := dbtest.Lookup("sqlite-modernc")
	store := newStore(t, c, c.Open(t))
	runs := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { runs++ }))
	defer site.Close()
	conf := route + "  required: false\nforms: [GET /chekout]\n"
	var log bytes.Buffer
	guard := Guard(store, read(t, "upstream: "+site.URL+"\n"+conf), nil, slog.New(slog.NewTextHandler(&log, nil)))
	g := frontOf(t, site.URL, conf, Options{Guard: guard})
	for range 3 {
		g.send("POST", "/checkout", "item=tea", formType, "Referer: http://shop.example/checkout?session=s3cret")
	}
	g.send("POST", "/checkout", "idempotency_key=k&item=tea", formType)
	if s := log.String(); runs != 4 || strings.Count(s, "without a key") != 1 || !strings.Contains(s, `route="POST /checkout" page=/checkout`) || strings.Contains(s, "s3cret") {
		t.Errorf("%d runs: %s", runs, s)
	}
}

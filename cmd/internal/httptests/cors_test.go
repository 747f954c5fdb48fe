package httptests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/cors"

	"github.com/nebis-dev/nebis/nebishttp"
)

// Case 46: a page of another origin sends its key and reads what became of it, by
// our own CORS and by a library with our two lists.
func TestAPageOfAnotherOriginSendsKeysAndReadsTheOutcome(t *testing.T) {
	const page = "https://shop.example"
	lib := cors.New(cors.Options{
		AllowedOrigins: []string{page}, AllowCredentials: true,
		AllowedMethods: []string{"GET", "POST"},
		AllowedHeaders: append([]string{"Content-Type"}, nebishttp.RequestHeaders()...),
		ExposedHeaders: nebishttp.ResponseHeaders(),
	})
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"nebishttp.CORS": nebishttp.CORS{Origins: []string{page}, Credentials: true}.Wrap,
		"rs/cors":        lib.Handler,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sqlite, nil, func(s *site, mux *http.ServeMux) {
				mux.Handle("/", wrap(s.m.Tx("order", s.place(nil), nil)))
			})
			// Browsers write the names in small letters, in order.
			p, err := s.try(http.MethodOptions, "/", http.NoBody, "Origin", page,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,idempotency-key")
			if err != nil || p.status != 204 || p.header.Get("Access-Control-Allow-Origin") != page ||
				!strings.Contains(strings.ToLower(p.header.Get("Access-Control-Allow-Headers")), "idempotency-key") {
				t.Errorf("preflight: %d %v %v", p.status, p.header, err)
			}
			s.wantOrders(0)
			for _, outcome := range []string{"created", "replayed"} {
				p := s.send("/", "{}", ctype, js, key, "k", "Origin", page)
				s.want(p, 201, outcome)
				exposed := strings.Join(p.header.Values("Access-Control-Expose-Headers"), ",")
				if p.header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(exposed, "Idempotency-Status") || !strings.Contains(exposed, "Retry-After") {
					t.Errorf("%s: %v", outcome, p.header)
				}
			}
			s.wantOrders(1)
		})
	}
}

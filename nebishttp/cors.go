package nebishttp

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS lets pages of other origins send keys and read what became of them, as the
// Fetch standard (fetch.spec.whatwg.org, section CORS protocol) asks. Put it
// outside of the owner's check and of [Middleware.Wrap]: a preflight has no
// cookies. A site with a CORS middleware already adds [RequestHeaders] and
// [ResponseHeaders] to that one's lists instead.
type CORS struct {
	// Origins are scheme, host and port as browsers send them:
	// "https://shop.example". "*" alone lets any origin in, without credentials.
	Origins []string

	// Credentials lets cookies come along; not with "*".
	Credentials bool

	// Methods default to GET, HEAD, POST, PUT, PATCH, DELETE. Headers are allowed
	// beside Content-Type, Authorization and RequestHeaders.
	Methods, Headers []string

	// MaxAge is how long a browser may remember a preflight. Defaults to an hour;
	// browsers have a limit of their own.
	MaxAge time.Duration
}

// RequestHeaders are the headers that a client of ours sends.
func RequestHeaders() []string { return []string{keyHeader} }

// ResponseHeaders are the headers that a client of ours has to read; without
// Access-Control-Expose-Headers a page of another origin cannot.
func ResponseHeaders() []string {
	return []string{statusHeader, replayedHeader, "Retry-After", "Location"}
}

// Wrap answers preflights of the allowed origins and marks all other answers for
// them. A request of another origin passes unmarked: it is the browser that keeps
// the answer from the page. Wrap panics when Credentials meet "*", or when an
// origin is not one.
func (c CORS) Wrap(next http.Handler) http.Handler {
	c.check()
	expose := strings.Join(ResponseHeaders(), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		h.Add("Vary", "Origin")
		if preflight {
			h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		}
		allowed := c.allow(h, origin)
		switch {
		case preflight && origin != "":
			if allowed {
				c.preflight(h)
			}
			w.WriteHeader(http.StatusNoContent)
			return
		case allowed:
			h.Set("Access-Control-Expose-Headers", expose)
		}
		next.ServeHTTP(w, r)
	})
}

func (c CORS) check() {
	for _, o := range c.Origins {
		scheme, host, ok := strings.Cut(o, "://")
		switch {
		case o == "*" && c.Credentials:
			panic(`nebishttp: CORS: browsers take no credentials for "*"; name the origins`)
		case o != "*" && (!ok || scheme == "" || host == "" || strings.ContainsAny(host, "/?#* ")):
			panic("nebishttp: CORS: " + strconv.Quote(o) + ` is not an origin such as "https://shop.example"`)
		}
	}
}

func (c CORS) allow(h http.Header, origin string) bool {
	switch {
	case origin == "":
		return false
	case slices.Contains(c.Origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
		return true
	case !slices.Contains(c.Origins, origin):
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if c.Credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	return true
}

func (c CORS) preflight(h http.Header) {
	methods := c.Methods
	if len(methods) == 0 {
		methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	}
	age := c.MaxAge
	if age == 0 {
		age = time.Hour
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", strings.Join(slices.Concat([]string{"Content-Type", "Authorization"}, RequestHeaders(), c.Headers), ", "))
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(age.Seconds())))
}

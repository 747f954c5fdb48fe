package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
)

// Options are what a gateway needs beside its configuration. The zero value
// works for one that protects no route.
type Options struct {
	// Guard makes of a route what lets a write through once for each key. It wraps
	// the handler that sends the request to the site.
	Guard func(*Route) (func(http.Handler) http.Handler, error)

	// Ready is asked by /.nebis/readyz: nil where all is well.
	Ready func(context.Context) error

	// Secret signs the visitor's cookie. Without one no cookie is set.
	Secret []byte

	// Observe notes what came twice, in place of doing anything about it: no route
	// is guarded and no page is changed.
	Observe *Observer

	// Done, if set, is told of each request that has ended, but for those to the
	// gateway's own pages.
	Done func(Request)

	// Log gets a line for each request, and what goes wrong: never a key, a body or
	// the value of a parameter. Defaults to slog.Default().
	Log *slog.Logger
}

// ErrNoGuard says that routes are to be protected and nothing is there that could.
var ErrNoGuard = errors.New("routes are to be protected, and there is no guard")

// Gateway is the handler of everything that comes.
type Gateway struct {
	conf     Config
	o        Options
	own      http.Handler // what lies below /.nebis/
	proxy    http.Handler
	guarded  []http.Handler // of each route
	visitors visitors
	stopping context.Context // ends when no new requests are to come
	stop     context.CancelFunc
}

// New makes a gateway. The configuration must have been settled.
func New(c Config, o Options) (*Gateway, error) {
	g := &Gateway{conf: c, o: o, visitors: visitors{o.Secret}}
	if g.o.Log == nil {
		g.o.Log = slog.Default()
	}
	upstream, err := c.UpstreamURL()
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	g.stopping, g.stop = context.WithCancel(context.Background())
	g.own = g.ownPages()
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { g.rewrite(p, upstream) },
		Transport:      newTransports(),
		ModifyResponse: g.modify,
		ErrorHandler:   g.unreachable,
		ErrorLog:       slog.NewLogLogger(g.o.Log.Handler(), slog.LevelWarn),
		BufferPool:     newBuffers(),
	}
	if o.Observe != nil {
		g.proxy = o.Observe.wrap(g, g.proxy)
		return g, nil
	}
	return g, g.guard()
}

// guard is the one place where routes get their protection.
func (g *Gateway) guard() error {
	if len(g.conf.Routes) > 0 && g.o.Guard == nil {
		return ErrNoGuard
	}
	for i := range g.conf.Routes {
		r := &g.conf.Routes[i]
		wrap, err := g.o.Guard(r)
		if err != nil {
			return fmt.Errorf("route %s: %w", r.Match, err)
		}
		g.guarded = append(g.guarded, wrap(g.proxy))
	}
	return nil
}

// call is what is known of one request on its way through.
type call struct {
	route *Route // nil: not protected
	page  bool   // the answer may be a page whose forms get a key
	asks  bool   // the site is asked for leave, see permitted
	no    bool   // and has not given it
	in    *http.Request
	forms int    // that got a key
	left  string // why a page was left as it is
	err   error  // why the site did not answer
}

type callKey struct{}

// callOf finds the request's call: also behind a guard, which makes a request of
// its own.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		c = &call{}
	}
	return c
}

// ServeHTTP answers for the gateway itself, or lets the request through.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{in: r}
	log := g.logged(w, r, c)
	defer log.done()
	if strings.HasPrefix(r.URL.Path, ownPrefix) {
		g.own.ServeHTTP(log, r)
		return
	}
	g.choose(c).ServeHTTP(log, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// choose finds what a request is for.
func (g *Gateway) choose(c *call) http.Handler {
	for _, p := range g.conf.Forms {
		c.page = c.page || p.MatchesPage(c.in)
	}
	i, ok := best(len(g.guarded),
		func(i int) Pattern { return g.conf.Routes[i].Match },
		func(p Pattern) bool { return p.Matches(c.in) })
	if !ok {
		return g.proxy
	}
	c.route = &g.conf.Routes[i]
	return g.guarded[i]
}

package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Config is what a gateway does, as its file says it.
type Config struct {
	Addr           string         // to listen on; port 0 picks a free one
	Upstream       string         // the site: scheme, host and port
	DB             string         // as package dburl has it
	TrustedProxies []netip.Prefix // whose X-Forwarded-… are believed
	Owner          Owner
	Clean          time.Duration // how often expired keys are removed; 0: never
	Metrics        string        // where Prometheus reads; empty: nowhere
	MetricsPublic  bool          // other machines may reach it
	Forms          []Pattern     // pages whose forms get a key
	Routes         []Route       // writes that are done once
}

// Default is the configuration where nothing is said.
func Default() Config {
	return Config{
		Addr: "127.0.0.1:8080",
		DB:   "sqlite:nebis-gateway.db",
		TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128"),
		},
		Owner: Owner{Kind: ownerVisitor},
		Clean: 10 * time.Minute,
	}
}

// Kind is who sends the writes of a route, and so how a duplicate is answered.
type Kind string

// The kinds.
const (
	ByRequest Kind = ""         // a form if a browser sent one, else api
	Form      Kind = "form"     // a person: the duplicate waits
	API       Kind = "api"      // a program: 409, it will ask again
	Callback  Kind = "callback" // a provider: waits 3 s, then not acknowledged
)

// What to do when the site did not answer, or the database.
const (
	Unknown = "unknown"
	Free    = "free"
	Closed  = "closed"
	Open    = "open"
)

// Route is a write that is done once for each key.
type Route struct {
	Match           Pattern
	Scope           string
	Key             []KeySource // the first that the request has
	Kind            Kind
	Required        bool
	Success         Success
	OnUpstreamError string   // Unknown or Free
	Permit          *url.URL // page of the site that is asked before each write with a key
	Verify          string   // URL that is asked about an unknown outcome
	Look            string   // page where a person sees what has been done
	OnStoreError    string   // Closed or Open
	Keep            time.Duration
	KeepSeen        time.Duration // how long a late sender is told that the key was used; 0: as long as the answer is kept
	Wait            time.Duration // negative: by the kind
	Deadline        time.Duration
	MaxBody         int64 // what is read to find the key, and kept of an answer
}

// NewRoute is a route with the defaults.
func NewRoute(match Pattern) Route {
	return Route{
		Match:           match,
		Key:             defaultKey(),
		Success:         Success{Status: []StatusRange{{200, 399}}},
		OnUpstreamError: Unknown,
		OnStoreError:    Closed,
		Look:            "/",
		Wait:            -1,
		Deadline:        60 * time.Second,
		MaxBody:         1 << 20,
	}
}

// WaitFor is how long a duplicate waits; kind is the request's, where the route
// leaves it to the request.
func (r *Route) WaitFor(kind Kind) time.Duration {
	if r.Wait >= 0 {
		return r.Wait
	}
	if r.Kind != ByRequest {
		kind = r.Kind
	}
	switch kind {
	case Form:
		return 25 * time.Second
	case Callback:
		return 3 * time.Second
	}
	return 2 * time.Second
}

const maxScope = 64

// settle fills in what depends on other fields, and finds what does not go
// together.
func (r *Route) settle() error {
	if r.Scope == "" {
		scope, err := parseScope(r.Match.Path())
		if err != nil {
			return fmt.Errorf("scope: the path cannot be one (1 to %d characters from ! to ~): give the route one", maxScope)
		}
		r.Scope = scope
	}
	if r.Keep == 0 {
		r.Keep = 24 * time.Hour
		if r.Kind == Callback {
			r.Keep = 35 * 24 * time.Hour
		}
	}
	if r.Kind == Callback && !r.Success.hasRule() {
		return errors.New("success: a callback is not acknowledged by its status alone (sites answer 200 fail): say what the body, the json or the location must be")
	}
	return nil
}

// Settle completes the configuration and checks it as a whole.
func (c *Config) Settle() error {
	var all []error
	add := func(field string, err error) {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", field, err))
		}
	}
	if c.Upstream == "" {
		add("upstream", errors.New("name the site behind the gateway, such as http://127.0.0.1:8081"))
	}
	add("metrics", Metrics(c.Metrics, c.MetricsPublic))
	for i := range c.Routes {
		add(fmt.Sprintf("routes[%d]", i), c.Routes[i].settle())
	}
	return errors.Join(all...)
}

// UpstreamURL is the site's address.
func (c *Config) UpstreamURL() (*url.URL, error) {
	site, err := parseUpstream(c.Upstream)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	return url.Parse(site)
}

// Warnings tells what is allowed, and yet is most likely not what was meant.
func (c *Config) Warnings() []string {
	var all []string
	if len(c.Routes) == 0 && len(c.Forms) > 0 {
		all = append(all, "forms get a key, but no route is protected: only the script in the page holds a second click back")
	}
	for i := range c.Routes {
		switch r := &c.Routes[i]; {
		case !r.needsField():
		case r.Match.Method == http.MethodGet:
			all = append(all, fmt.Sprintf("%s: what is asked for by a link has no form and no header with a key, so nothing holds it back: "+
				"name a part of its address as the key in the file, such as key: query:trade_no", r.Match))
		case len(c.Forms) == 0:
			all = append(all, fmt.Sprintf("%s: no page is named under forms (--forms), so nothing puts a key into its form; "+
				"writes without a key are not held back, unless the site's own page has the field %s, or the sender the header Idempotency-Key",
				r.Match, keyField))
		}
	}
	return all
}

// needsField reports whether only the default places of a key are looked at, on a
// route that a browser's form may lead to.
func (r *Route) needsField() bool {
	return (r.Kind == ByRequest || r.Kind == Form) && !r.Required && slices.EqualFunc(r.Key, defaultKey(),
		func(a, b KeySource) bool { return a.String() == b.String() })
}

func defaultKey() []KeySource {
	return []KeySource{{sourceForm, []string{keyField}}, {sourceHeader, []string{"Idempotency-Key"}}}
}

// Protect puts the patterns in place of the routes; a route of the same pattern
// stays as it is.
func (c *Config) Protect(patterns []Pattern) {
	var routes []Route
	for _, p := range patterns {
		if find(routes, p) >= 0 {
			continue // said twice, meant once
		}
		r := NewRoute(p)
		if i := find(c.Routes, p); i >= 0 {
			r = c.Routes[i]
		}
		routes = append(routes, r)
	}
	c.Routes = routes
}

// find returns which of the routes has the pattern p, or -1.
func find(routes []Route, p Pattern) int {
	return slices.IndexFunc(routes, func(r Route) bool { return r.Match.sameAs(p) })
}

func (p Pattern) sameAs(q Pattern) bool {
	return p.Method == q.Method && p.path.compare(q.path) == 0 && p.compareQuery(q) == 0
}

package scan

import (
	"cmp"
	"slices"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Bounds of what is remembered about routes: attackers try many.
const (
	maxRoutes = 5000
	maxPaths  = 20000
	maxPairs  = 200
)

// Route is one method on one path, with {id} for what changes.
type Route struct {
	Method   string        `json:"method"`
	Path     string        `json:"path"`
	Writes   int           `json:"writes"`
	Repeated int           `json:"repeated"`
	Groups   int           `json:"groups"`
	Gaps     report.Gaps   `json:"gaps"`
	Statuses []Pair        `json:"statuses"`
	Hours    [24]int       `json:"hours"`
	Causes   map[Cause]int `json:"causes"`
	Worth    Worth         `json:"worth"`

	landed int // repeats that the site did not refuse
	pairs  map[[2]int]int
}

// Pair is the status of a write and of the one that repeated it.
type Pair struct {
	First  int `json:"first"`
	Second int `json:"second"`
	Count  int `json:"count"`
}

// Worth tells whether a route should be protected.
type Worth string

// What a route may be worth.
const (
	Protect  Worth = "protect"
	Harmless Worth = "harmless" // by its name: a login, a search
	Steady   Worth = "steady"   // so often repeated that it is meant: a poll, a batch
	Refused  Worth = "refused"  // the site took none of the repeats
	Quiet    Worth = "quiet"    // nothing was repeated
)

func (r *Route) repeat(first, second *write, gap time.Duration, cause Cause) {
	r.Repeated++
	r.Gaps.Add(gap)
	r.Causes[cause]++
	if second.status < 400 || second.status >= 499 {
		r.landed++
	}
	pair := [2]int{int(first.status), int(second.status)}
	if _, known := r.pairs[pair]; known || len(r.pairs) < maxPairs {
		r.pairs[pair]++
	}
}

// Figures from which on a route counts as one that repeats by nature.
const (
	steadyWrites = 50
	steadyRun    = 5 // writes a group
)

func (r *Route) worth() Worth {
	switch {
	case r.Repeated == 0:
		return Quiet
	case isHarmless(r.Path):
		return Harmless
	case r.Writes >= steadyWrites && r.Repeated*2 > r.Writes && r.Repeated >= steadyRun*r.Groups:
		return Steady
	case r.landed == 0:
		return Refused
	}
	return Protect
}

// Likely is the most frequent cause.
func (r *Route) Likely() Cause { return likeliest(r.Causes) }

func likeliest(causes map[Cause]int) Cause {
	return slices.MaxFunc(Causes, func(a, b Cause) int { return cmp.Compare(causes[a], causes[b]) })
}

// finish sorts what was counted.
func (r *Route) finish() {
	r.Statuses = []Pair{}
	for pair, n := range r.pairs {
		r.Statuses = append(r.Statuses, Pair{pair[0], pair[1], n})
	}
	slices.SortFunc(r.Statuses, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
	})
	r.Worth = r.worth()
}

// routes knows every route, and the paths that it met lately.
type routes struct {
	byName map[string]*Route
	byPath map[string]*Route
}

func newRoutes() *routes { return &routes{byName: map[string]*Route{}, byPath: map[string]*Route{}} }

// of finds the route of a request. Beyond maxRoutes all others are one.
func (rs *routes) of(method, path []byte) *Route {
	raw := append(append(make([]byte, 0, 256), method...), ' ')
	raw = append(raw, path...)
	if r := rs.byPath[string(raw)]; r != nil {
		return r
	}
	r := rs.named(string(method), fold(string(path)))
	if len(raw) > 2*longestRoute {
		return r
	}
	if len(rs.byPath) >= maxPaths {
		clear(rs.byPath)
	}
	rs.byPath[string(raw)] = r
	return r
}

func (rs *routes) named(method, path string) *Route {
	name := method + " " + path
	r := rs.byName[name]
	if r != nil {
		return r
	}
	if len(rs.byName) >= maxRoutes {
		method, path, name = "*", "…", "* …"
		if r = rs.byName[name]; r != nil {
			return r
		}
	}
	r = &Route{Method: method, Path: path, Causes: map[Cause]int{}, pairs: map[[2]int]int{}}
	rs.byName[name] = r
	return r
}

// sorted returns all of them, those with the most repeats first.
func (rs *routes) sorted() []*Route {
	all := []*Route{}
	for _, r := range rs.byName {
		r.finish()
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Route) int {
		return cmp.Or(cmp.Compare(b.Repeated, a.Repeated), cmp.Compare(b.Writes, a.Writes), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return all
}

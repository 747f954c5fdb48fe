package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Pattern says which requests something is for:
//
//	POST /checkout              this method and this path
//	/orders/{id}/refund         any method that writes; {id} is one part of the path
//	GET /checkout*              * is anything, also nothing and also slashes
//	POST /flow.php?step=done    and the query has step=done, among whatever else
//
// Values of the query may have * and {name} as well; ?step alone wants the
// parameter, with any value.
type Pattern struct {
	Method string // "" is any method that writes
	text   string
	path   glob
	query  []param
}

// param is a query parameter that has to be there.
type param struct {
	name  string
	value glob
}

var (
	errNoPath = errors.New("the path is missing: a pattern looks like POST /checkout, /orders/{id} or POST /flow.php?step=done")
	errQuery  = errors.New("the query looks like ?step=done or ?step=done&page=2")
)

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	p, err := parsePattern(strings.TrimSpace(s))
	if err != nil {
		return Pattern{}, fmt.Errorf("%q: %w", s, err)
	}
	return p, nil
}

func parsePattern(s string) (Pattern, error) {
	p := Pattern{}
	target := s
	if method, rest, ok := strings.Cut(s, " "); ok {
		if !slices.Contains(methods, method) {
			return p, fmt.Errorf("%q is none of the methods %s, in capitals and with one blank before the path", method, strings.Join(methods, ", "))
		}
		p.Method, target = method, strings.TrimLeft(rest, " ")
	} else if slices.Contains(methods, s) {
		return p, errNoPath
	}
	if err := checkTarget(target); err != nil {
		return p, err
	}
	where, query, asked := strings.Cut(target, "?")
	var err error
	if p.path, err = parseGlob(where, pathMark); err != nil {
		return p, err
	}
	if asked {
		if p.query, err = parseQuery(query); err != nil {
			return p, err
		}
	}
	p.text = strings.TrimSpace(p.Method + " " + target)
	return p, nil
}

func checkTarget(target string) error {
	switch {
	case target == "":
		return errNoPath
	case strings.Contains(target, "://"):
		return errors.New("give the path only, without scheme and host")
	case target[0] != '/':
		return errors.New("the path begins with a slash")
	case strings.Contains(target, "#"):
		return errors.New("what stands behind # never reaches a server")
	case strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("a blank in a path is written %20")
	}
	return nil
}

// methods are those that a pattern may have. HEAD and OPTIONS change nothing and
// have no page; a method that is not here is more likely a slip (POTS) than one that
// a site knows.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"}

func parseQuery(s string) ([]param, error) {
	var params []param
	for part := range strings.SplitSeq(s, "&") {
		name, value, given := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || name == "" || strings.ContainsAny(name, "*{}") {
			return nil, errQuery
		}
		if !given {
			value = "*"
		}
		g, err := parseGlob(value, queryMark)
		if err != nil {
			return nil, err
		}
		params = append(params, param{name, g})
	}
	slices.SortFunc(params, func(a, b param) int { return strings.Compare(a.name, b.name) })
	return params, nil
}

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Path is the pattern's path as it was written.
func (p Pattern) Path() string { return p.path.text }

// Matches reports whether the pattern is for r.
func (p Pattern) Matches(r *http.Request) bool {
	if p.Method == "" {
		return writes(r.Method) && p.matchesURL(r.URL)
	}
	return p.Method == r.Method && p.matchesURL(r.URL)
}

// MatchesPage reports whether the pattern, as one of Config.Forms, is for the page
// that answers r. A page is also what a POST to the same path answers, when the
// form is shown again because of a mistake.
func (p Pattern) MatchesPage(r *http.Request) bool {
	switch p.Method {
	case "", http.MethodGet:
		return (r.Method == http.MethodGet || r.Method == http.MethodHead || writes(r.Method)) && p.matchesURL(r.URL)
	}
	return p.Matches(r)
}

func (p Pattern) matchesURL(u *url.URL) bool {
	// Servers take //checkout and /x/../checkout for /checkout.
	if !p.path.match(u.Path) && !p.path.match(tidy(u.Path)) {
		return false
	}
	if len(p.query) == 0 {
		return true
	}
	// What cannot be read is left out, as the site will do.
	given, _ := url.ParseQuery(u.RawQuery)
	for _, want := range p.query {
		// PHP takes the last of several, others the first: any of them will do.
		if !slices.ContainsFunc(given[want.name], want.value.match) {
			return false
		}
	}
	return true
}

// tidy is path without empty and dotted parts; a slash at the end stays.
func tidy(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// writes reports whether a method may change something.
func writes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return false
	}
	return true
}

// compare puts the pattern that says more first: by the path, letter by letter
// (a letter says more than {name}, that more than the end, that more than *), then
// by the query, then by the method.
func (p Pattern) compare(q Pattern) int {
	return cmp.Or(
		p.path.compare(q.path),
		p.compareQuery(q),
		cmp.Compare(len(q.Method), len(p.Method)),
		strings.Compare(p.text, q.text),
	)
}

func (p Pattern) compareQuery(q Pattern) int {
	return cmp.Or(
		cmp.Compare(len(q.query), len(p.query)),
		slices.CompareFunc(p.query, q.query, func(a, b param) int {
			return cmp.Or(a.value.compare(b.value), strings.Compare(a.name, b.name))
		}),
	)
}

// best returns the index of the pattern that says most of those that fit.
func best(n int, pattern func(int) Pattern, fits func(Pattern) bool) (int, bool) {
	found := -1
	for i := range n {
		p := pattern(i)
		if fits(p) && (found < 0 || p.compare(pattern(found)) < 0) {
			found = i
		}
	}
	return found, found >= 0
}

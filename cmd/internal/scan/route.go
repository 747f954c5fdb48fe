package scan

import (
	"strings"
)

// longestRoute bounds the name of a route.
const longestRoute = 200

// fold makes the name of a route from a path: without the query, and with {id}
// for the parts that name one thing or one person.
func fold(path string) string {
	path = bare(path)
	if len(path) > longestRoute {
		path = path[:longestRoute] + "…"
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if isID(p) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

// bare is a path without query, session and host.
func bare(path string) string {
	if i := strings.IndexAny(path, "?#;"); i >= 0 {
		path = path[:i]
	}
	if i := strings.Index(path, "://"); i > 0 {
		_, after, _ := strings.Cut(path[i+3:], "/")
		path = "/" + after
	}
	return path
}

// isID tells a number, a UUID, a hash, a mail address, an order number from a
// word: v2, oauth2 and 404.html stay.
func isID(s string) bool {
	digits, hex, letters := 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			hex++
		case c == '@':
			return true
		case c == '-' || c == '_' || c == '.':
		case c == '%': // %E4 is a byte of some letter
			letters++
			i += 2
		default:
			letters++
		}
	}
	switch {
	case s == "":
		return false
	case hex+letters == 0:
		return digits > 0
	case letters == 0 && len(s) >= 8:
		return digits > 0
	}
	return digits >= 4
}

// Words in a path that tell what it is for.
var (
	callbackWords = []string{"notify", "callback", "webhook", "ipn", "hook"}
	harmlessWords = []string{
		"login", "signin", "sign-in", "logout", "search", "heartbeat", "ping", "beacon", "collect", "track", "telemetry", "health", "preview", "csp-report",
	}
)

// isCallback tells a route on which a provider reports.
func isCallback(route string) bool {
	route = strings.ToLower(route)
	for _, w := range callbackWords {
		if strings.Contains(route, w) {
			return true
		}
	}
	return false
}

// isHarmless tells a route that may be called twice.
func isHarmless(route string) bool {
	for _, p := range strings.Split(strings.ToLower(route), "/") {
		name, _, _ := strings.Cut(p, ".")
		for _, w := range harmlessWords {
			if name == w || name == "wp-"+w {
				return true
			}
		}
	}
	return false
}

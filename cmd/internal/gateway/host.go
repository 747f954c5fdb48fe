package gateway

import (
	"slices"
	"strings"
)

// place is where an action leads: a host as normalHost writes it, "" for that of
// the page.
type place struct {
	host string
	http bool // false: javascript:, mailto: and whatever else is no request to a site
}

// placeOf reads an action as a browser does, which is more lenient than net/url.
func placeOf(action string) place {
	s := strings.TrimFunc(action, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(s)
	scheme, rest, found := strings.Cut(s, ":")
	if !found || !isScheme(scheme) {
		if !strings.HasPrefix(s, "//") {
			return place{"", true}
		}
		return place{authority(s, ""), true}
	}
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" || !strings.HasPrefix(rest, "//") {
		return place{}
	}
	return place{authority(rest, scheme), true}
}

func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

// authority is the host of //user@host:port/path.
func authority(s, scheme string) string {
	s = strings.TrimLeft(s, "/")
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	return normalHost(s[strings.LastIndexByte(s, '@')+1:], scheme)
}

// at reports whether the place is one of the hosts; base is that of <base href>.
func (p place) at(hosts []string, base place) bool {
	if p.http && p.host == "" {
		p = base
	}
	return p.http && (p.host == "" || slices.Contains(hosts, p.host))
}

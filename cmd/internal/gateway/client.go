package gateway

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
)

// forwarded tells the site who asks. What came is passed on only from a proxy
// that is trusted: anybody else may have made it up.
func (g *Gateway) forwarded(p *httputil.ProxyRequest) {
	in, out := p.In.Header, p.Out.Header
	trusted := g.trusts(peer(p.In))
	for name := range in {
		if !isReserved(name) {
			continue
		}
		delete(out, name)
		if trusted && isForwarded(name) {
			out[name] = slices.Clone(in[name])
		}
	}
	p.SetXForwarded()
	if !trusted {
		return
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
		if given := in[name]; len(given) > 0 {
			out[name] = slices.Clone(given)
		}
	}
}

// isReserved reports whether a header may not come from just anybody. PHP takes
// X_Nebis_Key for X-Nebis-Key.
func isReserved(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return isForwarded(name) || name == keyUpstream
}

func isForwarded(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

// peer is who has connected.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(host)
	return a.Unmap().WithZone("")
}

func (g *Gateway) trusts(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(g.conf.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// client is who asks: the last address that no trusted proxy has.
func (g *Gateway) client(r *http.Request) string {
	at := peer(r)
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && g.trusts(at); i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = a.Unmap().WithZone("")
	}
	return at.String()
}

// isSecure reports whether the visitor sees https.
func (g *Gateway) isSecure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	return g.trusts(peer(r)) && strings.EqualFold(lastOf(r.Header["X-Forwarded-Proto"]), "https")
}

// hosts are the names under which the visitor may know the site.
func (g *Gateway) hosts(r *http.Request) []string {
	hosts := []string{normalHost(r.Host, "")}
	if h := lastOf(r.Header["X-Forwarded-Host"]); h != "" && g.trusts(peer(r)) {
		hosts = append(hosts, normalHost(h, ""))
	}
	return hosts
}

func lastOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	all := strings.Split(lines[len(lines)-1], ",")
	return strings.TrimSpace(all[len(all)-1])
}

// normalHost is host in small letters, without the port that goes without saying.
func normalHost(host, scheme string) string {
	host = strings.ToLower(host)
	if scheme != "https" {
		host = strings.TrimSuffix(host, ":80")
	}
	if scheme != "http" {
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}

package gateway

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/dburl"
)

const day = 24 * time.Hour

// parseDuration reads 25s, 2m, 24h, 35d and sums of them.
func parseDuration(s string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a duration such as 25s, 2m, 24h or 35d", s)
	var days time.Duration
	if text, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return 0, wrong
		}
		if days, s = time.Duration(n)*day, rest; s == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || days+d < days {
		return 0, wrong
	}
	return days + d, nil
}

// parseClean reads how often expired keys are removed.
func parseClean(s string) (time.Duration, error) {
	if s == "off" {
		return 0, nil
	}
	d, err := parseDuration(s)
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("%q is not off, or a time of a second at least, such as 10m", s)
	}
	return d, nil
}

func formatClean(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	return formatDuration(d)
}

func formatDuration(d time.Duration) string {
	if d > day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var units = []struct {
	name string
	size int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// parseSize reads 1MiB, 64KiB, 10MB or a number of bytes.
func parseSize(s string) (int64, error) {
	number, size := s, int64(1)
	for _, u := range units {
		if text, ok := strings.CutSuffix(s, u.name); ok {
			number, size = strings.TrimSpace(text), u.size
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n == 0 || int64(n) > math.MaxInt64/size {
		return 0, fmt.Errorf("%q is not a size such as 1MiB, 512KiB or 65536", s)
	}
	return int64(n) * size, nil
}

func formatSize(n int64) string {
	for _, u := range units[:3] {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// StatusRange has the statuses from First to Last.
type StatusRange struct{ First, Last int }

// parseStatus reads 200-399, 201, or several with commas between.
func parseStatus(s string) ([]StatusRange, error) {
	var all []StatusRange
	for part := range strings.SplitSeq(s, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			to = from
		}
		first, err := strconv.Atoi(strings.TrimSpace(from))
		last, err2 := strconv.Atoi(strings.TrimSpace(to))
		if err != nil || err2 != nil || first < 200 || last > 599 || first > last {
			return nil, fmt.Errorf("%q is not like 200-399, 201 or 200-299,303", s)
		}
		all = append(all, StatusRange{first, last})
	}
	return all, nil
}

func formatStatus(all []StatusRange) string {
	var parts []string
	for _, r := range all {
		part := strconv.Itoa(r.First)
		if r.Last != r.First {
			part += "-" + strconv.Itoa(r.Last)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// The kinds of owners.
const (
	ownerVisitor = "visitor"
	ownerCookie  = "cookie"
	ownerHeader  = "header"
	ownerNone    = "none"
)

// Owner says on whose behalf a request is made: visitor (a cookie of the
// gateway's own), cookie:NAME, header:NAME, or none.
type Owner struct{ Kind, Name string }

func parseOwner(s string) (Owner, error) {
	kind, name, named := strings.Cut(s, ":")
	switch {
	case !named && (kind == ownerVisitor || kind == ownerNone):
		return Owner{Kind: kind}, nil
	case named && (kind == ownerCookie || kind == ownerHeader) && isToken(name):
		return Owner{kind, name}, nil
	}
	return Owner{}, fmt.Errorf("%q is not visitor, cookie:NAME, header:NAME or none", s)
}

// IsVisitor reports whether the gateway's own cookie says who asks.
func (o Owner) IsVisitor() bool { return o.Kind == ownerVisitor }

// String is the owner as it stands in the configuration: "cookie:NAME".
func (o Owner) String() string {
	if o.Name == "" {
		return o.Kind
	}
	return o.Kind + ":" + o.Name
}

// isToken reports whether s can be the name of a header or a cookie.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// parsePrefix reads 10.0.0.0/8, or one address.
func parsePrefix(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not an address range such as 10.0.0.0/8, nor an address", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func parseScope(s string) (string, error) {
	if len(s) > maxScope || strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }) {
		return "", fmt.Errorf("%q is not 1 to %d characters from ! to ~", s, maxScope)
	}
	return s, nil
}

// parseVerify takes a URL, or a path of the site.
func parseVerify(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || s != "" && !strings.HasPrefix(s, "/") && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%q is neither a URL nor a path of the site", s)
	}
	return s, nil
}

// parsePermit takes a path of the site: nobody else gets a person's cookies.
func parsePermit(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	u, err := url.Parse(s)
	if err != nil || !strings.HasPrefix(s, "/") || u.Host != "" || strings.ContainsAny(s, " {}") {
		return nil, fmt.Errorf("%q is not a path of the site, such as /may-order; it is asked as it stands", s)
	}
	return u, nil
}

// oneOf is a value that has a few names.
func oneOf(names ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, n := range names {
			if s == n {
				return s, nil
			}
		}
		return "", fmt.Errorf("%q is not %s", s, strings.Join(names, " or "))
	}
}

func parseKind(s string) (Kind, error) {
	k, err := oneOf("form", "api", "callback")(s)
	if s == "" {
		return ByRequest, nil
	}
	return Kind(k), err
}

var errNotPositive = errors.New("it must be more than nothing")

func parsePositive(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d == 0 {
		return 0, errNotPositive
	}
	return d, err
}

// parseWait reads a duration; nothing is: by the kind.
func parseWait(s string) (time.Duration, error) {
	if s == "" {
		return -1, nil
	}
	return parseDuration(s)
}

func parseAddr(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT, such as 127.0.0.1:8080", s)
	}
	return s, nil
}

// parseDB reads a database's address. A mistake in one is told without its password.
func parseDB(s string) (string, error) {
	_, err := dburl.Parse(s)
	return s, err
}

// parseUpstream reads the site's address: scheme, host and port.
func parseUpstream(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err == nil && u.User != nil:
		return "", errors.New("it has a user name, which would be sent to nobody")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is not like http://127.0.0.1:8081", s)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q: give scheme, host and port only: paths go to the site as they came", s)
	}
	return u.Scheme + "://" + u.Host, nil
}

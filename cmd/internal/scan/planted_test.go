package scan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

// planted is a log with a known number of repeats.
type planted struct {
	name             string
	requests         []request
	repeated, groups int
}

func plants() []planted {
	return []planted{
		{"a double click", []request{post(0, status(499)), post(0)}, 1, 1},
		{"three in a chain, each within the window of the one before", []request{post(0), post(5), post(10)}, 2, 1},
		{"the window is inclusive", []request{post(0), post(5)}, 1, 1},
		{"a second more is outside", []request{post(0), post(6)}, 0, 0},
		{"a near miss, then a repeat", []request{post(0), post(6), post(8)}, 1, 1},
		{"the window of a visitor outlives that of others", []request{post(0, from("198.51.100.1")), post(2), post(3, from("198.51.100.2")), post(6, from("198.51.100.3")), post(7)}, 1, 1},
		{"two groups of one visitor", []request{post(0), post(1), post(60), post(61)}, 2, 2},
		{"two users behind one address", []request{post(0, user("ann")), post(1, user("bob")), post(2, user("ann"))}, 1, 1},
		{"two addresses", []request{post(0), post(1, from("203.0.113.8"))}, 0, 0},
		{"IPv6", []request{post(0, from("2001:db8::1")), post(1, from("2001:db8::2")), post(1, from("2001:db8::1"))}, 1, 1},
		{"two paths", []request{post(0), post(1, to("/orders/2"))}, 0, 0},
		{"two queries", []request{post(0, to("/cart?item=1")), post(1, to("/cart?item=2")), post(1, to("/cart?item=1"))}, 1, 1},
		{"two methods", []request{post(0), post(1, by("PUT"))}, 0, 0},
		{"all methods that write", []request{post(0, by("PUT")), post(1, by("PUT")), post(2, by("PATCH")), post(3, by("PATCH")), post(4, by("DELETE")), post(5, by("DELETE"))}, 3, 3},
		{"reads do not count", []request{post(0, by("GET")), post(1, by("GET")), post(2, by("HEAD")), post(3, by("HEAD"))}, 0, 0},
		{"out of order by seconds", []request{post(9), post(4), post(14), post(0)}, 3, 1},
		{"out of order, and too far apart", []request{post(6), post(0)}, 0, 0},
		{"across midnight", []request{post(43199), post(43201)}, 1, 1},
		{"any response", []request{post(0, status(499)), post(1, status(302)), post(2, status(500)), post(3, status(200))}, 3, 1},
		{"when summer time ends, the same clock an hour apart", berlin(
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:01+01:00"), 0, 0},
		{"when summer time ends, over the edge", berlin("2026-10-25T02:59:59+02:00", "2026-10-25T02:00:01+01:00"), 1, 1},
		{"when summer time begins, over the edge", berlin("2026-03-29T01:59:58+01:00", "2026-03-29T03:00:02+02:00"), 1, 1},
		{"the same instant in two zones", berlin("2026-06-01T12:00:00+02:00", "2026-06-01T18:00:03+08:00"), 1, 1},
	}
}

func berlin(times ...string) []request {
	var all []request
	for _, s := range times {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		all = append(all, post(0, func(r *request) { r.at = at }))
	}
	return all
}

func TestPlantedRepeatsAreFoundExactly(t *testing.T) {
	for _, s := range styles {
		for _, p := range plants() {
			t.Run(s.name+"/"+p.name, func(t *testing.T) {
				r := run(t, s.text(p.requests...), &scan.Options{Format: s.format})
				if r.Repeated != p.repeated || r.Groups != p.groups || r.Broken != 0 || r.Lines != len(p.requests) {
					t.Errorf("%d repeated in %d groups, %d of %d lines broken; planted %d in %d\n%s",
						r.Repeated, r.Groups, r.Broken, r.Lines, p.repeated, p.groups, s.text(p.requests...))
				}
			})
		}
	}
}

// All of them in one log, each in a year of its own, among requests of others.
func TestPlantedRepeatsAreFoundTogether(t *testing.T) {
	for _, s := range styles {
		t.Run(s.name, func(t *testing.T) {
			var text string
			repeated, groups := 0, 0
			for i, p := range plants() {
				addr := fmt.Sprintf("198.51.100.%d", i)
				for n, one := range p.requests {
					shift := time.Duration(i) * 400 * 24 * time.Hour
					one.at = one.at.Add(shift)
					text += s.text(one, request{at: one.at, addr: addr, method: "POST", path: fmt.Sprintf("/noise/n%d/%d", i, n), status: 200, agent: safari})
				}
				repeated, groups = repeated+p.repeated, groups+p.groups
			}
			r := run(t, text, &scan.Options{Format: s.format})
			if r.Repeated != repeated || r.Groups != groups {
				t.Errorf("%d repeated in %d groups; planted %d in %d", r.Repeated, r.Groups, repeated, groups)
			}
		})
	}
}

func TestWhatIsLoggedTellsVisitorsApart(t *testing.T) {
	for _, c := range []struct {
		name     string
		style    style
		a, b     func(*request)
		repeated int
	}{
		{"agent", styles[1], with(chrome), with(safari), 0},
		{"agent, not logged", styles[0], with(chrome), with(safari), 1},
		{"cookie", styles[2], cookie("a"), cookie("b"), 0},
		{"cookie in JSON", styles[3], cookie("a"), cookie("b"), 0},
		{"request length", styles[2], bytes(512), bytes(513), 0},
		{"request length in JSON", styles[3], bytes(512), bytes(513), 0},
		{"request length, not logged", styles[1], bytes(512), bytes(513), 1},
		{"query, logged by itself", style{"", `$remote_addr [$time_local] "$request_method $uri" $args`, func(r request) string {
			path, query, _ := strings.Cut(r.path, "?")
			return fmt.Sprintf(`%s [%s] "%s %s" %s`, r.addr, r.at.Format("02/Jan/2006:15:04:05 -0700"), r.method, path, dash(query))
		}}, to("/cart?item=1"), to("/cart?item=2"), 0},
		{"site", vhosts, at("a.example"), at("b.example"), 0},
		{"site, in front of the address", style{"", "", func(r request) string { return r.host + " " + combined(r) }}, at("a.example"), at("b.example"), 0},
		{"address behind the site", style{"", "", func(r request) string { return r.host + " " + combined(r) }}, from("203.0.113.1"), from("203.0.113.2"), 0},
		{"port of a site", vhosts, at("a.example:80"), at("a.example:443"), 1},
		{"a duration where others have an address", timed, behind("0.010"), behind("0.020"), 1},
		{"address behind a proxy", styles[2], behind("192.0.2.1, 10.0.0.1"), behind("192.0.2.2, 10.0.0.1"), 0},
		{"way through proxies", styles[2], behind("192.0.2.1, 10.0.0.1"), behind("192.0.2.1, 10.0.0.2"), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.style.text(post(0, c.a), post(1, c.b)), &scan.Options{Format: c.style.format})
			if r.Repeated != c.repeated {
				t.Errorf("%d repeated, want %d", r.Repeated, c.repeated)
			}
		})
	}
}

// vhosts is vhost_combined of Debian's Apache; timed is combined with a duration.
var (
	vhosts = style{"", "", func(r request) string {
		if !strings.Contains(r.host, ":") {
			r.host += ":443"
		}
		return r.host + " " + combined(r)
	}}
	timed = style{"", "", func(r request) string { return combined(r) + ` "` + r.forwarded + `"` }}
)

func TestTheCauseIsJudgedByTheFirstOne(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  request
		cause scan.Cause
	}{
		{"the browser gave up the first", post(0, status(499)), post(3), scan.DoubleClick},
		{"both within a second", post(0), post(1), scan.DoubleClick},
		{"an error", post(0, status(500)), post(3), scan.Retry},
		{"too many requests", post(0, status(429)), post(3), scan.Retry},
		{"a time-out of the server", post(0, status(408)), post(3), scan.Retry},
		{"a program that gave up", post(0, status(499), with("okhttp/4.12")), post(3, with("okhttp/4.12")), scan.Retry},
		{"two seconds", post(0), post(2), scan.DoubleClick},
		{"three seconds", post(0), post(3), scan.ByHand},
		{"no status", post(0, status(0)), post(1), scan.Resent},
		{"a program after a second", post(0, with("okhttp/4.12")), post(1, with("okhttp/4.12")), scan.Resent},
		{"a time-out of the client", post(0, status(499), took(30)), post(1), scan.Retry},
		{"a slow answer", post(0, took(12)), post(1), scan.Retry},
		{"a quick one, and an error of the client", post(0, status(422)), post(1), scan.DoubleClick},
		{"no answer at all", post(0, status(444)), post(1), scan.Resent},
		{"a program at once", post(0, with("okhttp/4.12")), post(0, with("okhttp/4.12")), scan.Resent},
		{"a program later", post(0, with("okhttp/4.12")), post(4, with("okhttp/4.12")), scan.Resent},
		{"a provider after 15 s", post(0, to("/pay/notify"), with("Mozilla/4.0")), post(15, to("/pay/notify"), with("Mozilla/4.0")), scan.Callback},
		{"a provider after 4 min", post(0, with("Java/1.8")), post(240, with("Java/1.8")), scan.Callback},
		{"back and again", post(0), post(40), scan.ByHand},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, styles[2].text(c.a, c.b), &scan.Options{Format: custom, Within: time.Hour})
			if r.Repeated != 1 || r.Causes[c.cause] != 1 {
				t.Errorf("%d repeated, by %v; want %s", r.Repeated, r.Causes, c.cause)
			}
		})
	}
}

// A line an hour late, among others of its visitor, is a write and ends no group.
func TestALineThatIsFarTooLateLeavesTheGroupAsItIs(t *testing.T) {
	r := run(t, styles[1].text(post(4000), post(4002), post(4100, to("/x")), post(4200, to("/x")), post(1), post(4004)), nil)
	if r.Writes != 6 || r.Repeated != 2 || r.Groups != 1 || r.Late != 2 {
		t.Errorf("%d writes, %d repeated in %d groups, %d late", r.Writes, r.Repeated, r.Groups, r.Late)
	}
}

func TestAPathOfAlsoBeginsWithASlash(t *testing.T) {
	if _, err := scan.Run(t.Context(), nil, &scan.Options{Also: []string{"pay/notify"}}); !errors.Is(err, scan.ErrOption) || !strings.Contains(err.Error(), `"pay/notify"`) {
		t.Errorf("%v", err)
	}
}

func TestGETCountsWhereAlsoSaysSo(t *testing.T) {
	text := styles[1].text(
		post(0, by("GET"), to("/pay/notify?trade=1")), post(1, by("GET"), to("/pay/notify?trade=1")), post(2, by("GET"), to("/pay/notify?trade=2")),
		post(3, by("GET"), to("/hooks/a/1")), post(4, by("GET"), to("/hooks/a/1")), post(5, by("GET"), to("/")), post(6, by("GET"), to("/")))
	for also, want := range map[string]int{"/pay/notify": 1, "/hooks/*": 1, "/hooks/a/{id}": 1, "/pay": 0} {
		if r := run(t, text, &scan.Options{Also: []string{also}}); r.Repeated != want {
			t.Errorf("--also %s: %d repeated, want %d", also, r.Repeated, want)
		}
	}
}

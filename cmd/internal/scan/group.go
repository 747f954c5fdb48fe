package scan

import (
	"net/netip"
	"time"
)

// shownGroups is how many of the newest groups a report lists.
const shownGroups = 20

// Group is a write with its repeats.
type Group struct {
	Route    *Route    `json:"-"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	First    time.Time `json:"first"`
	Writes   int       `json:"writes"`
	Gaps     []float64 `json:"gaps_seconds"` // of the first few
	Statuses []int     `json:"statuses"`
	Address  string    `json:"address"`
	Visitor  string    `json:"visitor,omitempty"` // user or cookie, with Full only
}

// shownGaps is how much of a group is remembered.
const shownGaps = 8

func newGroup(w *write) *Group {
	return &Group{
		Route: w.route, Method: w.route.Method, Path: w.route.Path, First: time.UnixMicro(w.at).UTC(), Writes: 1,
		Statuses: []int{int(w.status)}, Address: w.addr, Visitor: w.who,
	}
}

func (g *Group) add(w *write, gap time.Duration) {
	g.Writes++
	if len(g.Gaps) < shownGaps {
		g.Gaps = append(g.Gaps, gap.Seconds())
		g.Statuses = append(g.Statuses, int(w.status))
	}
}

// newest keeps the last groups.
type newest struct {
	groups [shownGroups]*Group
	n      int
}

func (k *newest) add(g *Group) {
	k.groups[k.n%shownGroups] = g
	k.n++
}

// list returns them, the newest first.
func (k *newest) list() []*Group {
	all := []*Group{}
	for i := k.n - 1; i >= 0 && i >= k.n-shownGroups; i-- {
		all = append(all, k.groups[i%shownGroups])
	}
	return all
}

// shorten takes from an address what names one household.
func shorten(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		withPort, err := netip.ParseAddrPort(address)
		if err != nil {
			return "…"
		}
		a = withPort.Addr()
	}
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return "…"
	}
	return p.String()
}

package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

// observed is what was seen of one route.
type observed struct {
	name     string
	writes   int
	repeated int
	gaps     report.Gaps
	shortest time.Duration
	longest  time.Duration
	causes   map[scan.Cause]int

	// Of the repeats: those that came without a key, the pages of those that were
	// forms, how many of these did not say their page, and all else.
	keyless, pageless, others int
	pages                     map[string]int
}

// observePages is how many pages of a route's forms are told apart.
const observePages = 20

func (r *observed) repeat(first, second *sent) {
	gap := second.at.Sub(first.at)
	if r.repeated == 0 || gap < r.shortest {
		r.shortest = gap
	}
	r.longest = max(r.longest, gap)
	r.repeated++
	r.gaps.Add(gap)
	r.causes[causeOf(first, gap)]++
	r.origin(second)
}

// origin notes where a repeat without a key came from.
func (r *observed) origin(s *sent) {
	if s.key {
		return
	}
	r.keyless++
	switch {
	case !s.form:
		r.others++
	case s.page == "" || r.pages[s.page] == 0 && len(r.pages) == observePages:
		r.pageless++
	default:
		if r.pages == nil {
			r.pages = map[string]int{}
		}
		r.pages[s.page]++
	}
}

// slow is what clients and proxies wait for an answer, at the least; twice is how
// far apart the two clicks of a double click are.
const (
	slow  = 10 * time.Second
	twice = 2 * time.Second
)

// causeOf judges by how the first one ended, if it has, and by the gap.
func causeOf(first *sent, gap time.Duration) scan.Cause {
	unanswered := first.status == 0 && gap >= slow
	switch {
	case !first.program && gap <= twice:
		return scan.DoubleClick
	case first.gone || first.took >= slow || first.status >= 500 || first.status == 408 || first.status == 429 || unanswered:
		return scan.Retry
	case first.program && report.Due(gap):
		return scan.Callback
	case first.program:
		return scan.Resent
	}
	return scan.ByHand
}

// isProgram: every browser calls itself Mozilla; without an agent nobody knows.
func isProgram(agent string) bool { return agent != "" && !strings.HasPrefix(agent, "Mozilla/") }

// foldPath makes the name of a route from a path: {id} for the parts that name one
// thing or one person.
func foldPath(u *url.URL) string {
	path := strings.ReplaceAll(u.EscapedPath(), "*", "%2A") // as a pattern it would be anything
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if isID(p) {
			parts[i] = "{id" + strings.Repeat("_", strings.Count(strings.Join(parts[:i], "/"), "{id")) + "}"
		}
	}
	return strings.Join(parts, "/")
}

// word is a value of the query that names an action of the site, not a thing.
var word = regexp.MustCompile(`^[A-Za-z_]+=[A-Za-z_/]{1,30}$`)

// foldQuery keeps what tells one action of a site from another: many PHP sites
// route by step=done or r=order/pay.
func foldQuery(query string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		if len(kept) < 2 && word.MatchString(part) {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + strings.Join(kept, "&")
}

func isID(s string) bool {
	digits := 0
	hex := true
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '-':
		default:
			hex = false
		}
	}
	return digits > 0 && (digits == len(s) || hex && len(s) >= 8) || digits >= 4 || strings.Contains(s, "@")
}

// cause is the most frequent one.
func (r *observed) cause() scan.Cause {
	best := scan.ByHand
	for _, c := range scan.Causes {
		if r.causes[c] > r.causes[best] {
			best = c
		}
	}
	return best
}

// Page is what was seen until now, for people.
func (o *Observer) Page(l report.Lang) report.Page {
	o.mu.Lock()
	defer o.mu.Unlock()
	routes := slices.SortedFunc(maps.Values(o.routes), func(a, b *observed) int {
		if a.repeated != b.repeated {
			return b.repeated - a.repeated
		}
		return strings.Compare(a.name, b.name)
	})
	writes, repeated := 0, 0
	var gaps report.Gaps
	for _, r := range routes {
		writes, repeated = writes+r.writes, repeated+r.repeated
		for i, n := range r.gaps {
			gaps[i] += n
		}
	}
	p := report.Page{
		Title: l.Of("Writes that came twice", "来了两次的写请求"),
		Lead:  lead(l, writes, repeated),
		Found: repeated > 0,
		Facts: []report.Fact{
			{Label: l.Of("Observed for", "观察时长"), Value: l.Gap(o.now().Sub(o.began).Round(time.Second))},
			{Label: l.Of("Window", "时间窗"), Value: l.Gap(o.window)},
			{Label: l.Of("Writes", "写请求"), Value: report.Count(writes)},
			{Label: l.Of("Repeats", "重复"), Value: report.Count(repeated) + " (" + report.Percent(repeated, writes) + ")"},
		},
		Limits: o.limits(l),
	}
	if repeated > 0 {
		p.Sections = append(p.Sections, routesSection(l, routes), protectSection(l, routes),
			report.Section{Title: l.Of("How soon the repeat came", "隔多久又来一次"), Chart: gaps.Chart(l, o.window)})
	}
	if len(o.pages) > 0 {
		p.Sections = append(p.Sections, o.formsSection(l))
	}
	return p
}

func lead(l report.Lang, writes, repeated int) string {
	if repeated == 0 {
		return fmt.Sprintf(l.Of("None of %s writes came twice.", "%s 次写请求，没有一次重复。"), report.Count(writes))
	}
	return fmt.Sprintf(l.Of("Of %s writes, %s had come just before, from the same visitor and with the same contents.",
		"%s 次写请求里，有 %s 次与同一个访客刚刚发过的完全一样。"), report.Count(writes), report.Count(repeated))
}

func (o *Observer) limits(l report.Lang) []string {
	all := []string{
		l.Of("A visitor is an address with a browser and its authorization. What differs in one letter of its contents is another write.",
			"访客按地址、浏览器标识和授权信息来认。内容只要差一个字，就算另一次写入。"),
	}
	if o.crowded {
		all = append(all, l.Of("There were more writes within the window than are remembered; some repeats may be missing.",
			"时间窗内的写请求太多，没法全记住，可能漏掉一些重复。"))
	}
	return all
}

func routesSection(l report.Lang, routes []*observed) report.Section {
	t := &report.Table{
		Head: []string{l.Of("route", "接口"), l.Of("writes", "写请求"), l.Of("repeated", "重复"), l.Of("share", "占比"),
			l.Of("how far apart", "间隔"), l.Of("likely cause", "最可能的原因")},
		Right: map[int]bool{1: true, 2: true, 3: true},
	}
	for _, r := range routes {
		if r.repeated == 0 {
			break
		}
		apart := l.Gap(r.shortest.Round(time.Millisecond))
		if r.longest > r.shortest {
			apart += " – " + l.Gap(r.longest.Round(time.Millisecond))
		}
		t.Rows = append(t.Rows, []string{r.name, report.Count(r.writes), report.Count(r.repeated),
			report.Percent(r.repeated, r.writes), apart, r.cause().Text(l)})
	}
	return report.Section{Title: l.Of("Routes", "各接口"), Table: t}
}

func protectSection(l report.Lang, routes []*observed) report.Section {
	s := report.Section{
		Title: l.Of("What would have stopped them", "加上这些参数就能挡住"),
		Note: l.Of("For the command line of the gateway, one line a route. A write is known by its key: --forms has the gateway put one into the page's form.",
			"网关的命令行参数，每个接口一行，可以直接复制。重复是靠键认出来的：--forms 让网关在页面的表单里放上键。"),
	}
	for _, r := range routes {
		if r.repeated > 0 && r.name != "…" {
			s.Lines = append(s.Lines, r.proposal(l)...)
		}
	}
	return s
}

func (o *Observer) formsSection(l report.Lang) report.Section {
	t := &report.Table{
		Head:  []string{l.Of("page", "页面"), l.Of("the form", "表单"), l.Of("times", "次数")},
		Right: map[int]bool{2: true},
	}
	for _, page := range slices.Sorted(maps.Keys(o.pages)) {
		for _, why := range slices.Sorted(maps.Keys(o.pages[page])) {
			t.Rows = append(t.Rows, []string{page, why, report.Count(o.pages[page][why])})
		}
	}
	return report.Section{Title: l.Of("Forms of the pages that --forms names", "--forms 所指页面里的表单"), Table: t}
}

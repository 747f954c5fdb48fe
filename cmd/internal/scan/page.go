package scan

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// shownRoutes is how many routes a page lists.
const shownRoutes = 20

// Page is the result for people.
func (r *Result) Page(l report.Lang) report.Page {
	p := report.Page{
		Title:  l.Of("Repeated writes in the access log", "访问日志里的重复写入"),
		Lead:   r.lead(l),
		Found:  r.Found(),
		Facts:  r.facts(l),
		Limits: r.limits(l),
	}
	if r.Writes > 0 {
		p.Sections = append(p.Sections, r.routesSection(l))
	}
	if !r.Found() {
		return p
	}
	p.Sections = append(p.Sections, r.protectSection(l), r.causesSection(l),
		report.Section{Title: l.Of("How soon the repeat came", "隔多久又来一次"), Chart: r.Gaps.Chart(l, r.window)},
		report.Section{Title: l.Of("Repeats by hour of the day", "一天里什么时候重复最多"), Chart: r.hours()},
		r.statusSection(l), r.newestSection(l))
	return p
}

func (r *Result) lead(l report.Lang) string {
	switch {
	case r.Found():
		look := "looks like a repeat"
		if r.Repeated > 1 {
			look = "look like repeats"
		}
		return fmt.Sprintf(l.Of("Of %s writes, %s "+look+" of one just before, on %s.",
			"%s 次写入里，有 %s 次像是刚刚那一次的重复，涉及 %s。"),
			report.Count(r.Writes), report.Count(r.Repeated), r.repeatedRoutes(l))
	case r.Writes == 1:
		return l.Of("There is one write only: it was not repeated.", "只有 1 次写入，没有重复。")
	case r.Writes == 0:
		return l.Of("There is no write in these logs.", "这些日志里没有写请求。")
	}
	return fmt.Sprintf(l.Of("None of %s writes was repeated within %s.", "%s 次写入，没有一次在 %s内重复。"), report.Count(r.Writes), l.Gap(r.window))
}

func (r *Result) repeatedRoutes(l report.Lang) string {
	n := 0
	for _, route := range r.Routes {
		if route.Repeated > 0 {
			n++
		}
	}
	if n == 1 {
		return l.Of("one route", "1 个接口")
	}
	return fmt.Sprintf(l.Of("%s routes", "%s 个接口"), report.Count(n))
}

func (r *Result) facts(l report.Lang) []report.Fact {
	facts := []report.Fact{
		{Label: l.Of("Window", "时间窗"), Value: l.Gap(r.window)},
		{Label: l.Of("Lines", "日志行数"), Value: report.Count(r.Lines)},
		{Label: l.Of("Lines not understood", "看不懂的行"), Value: report.Count(r.Broken)},
		{Label: l.Of("Writes", "写请求"), Value: report.Count(r.Writes)},
		{Label: l.Of("Repeats", "重复"), Value: report.Count(r.Repeated) + " (" + report.Percent(r.Repeated, r.Writes) + ")"},
		{Label: l.Of("Groups", "组数"), Value: report.Count(r.Groups)},
	}
	if !r.From.IsZero() {
		facts = append(facts, report.Fact{Label: l.Of("From", "开始"), Value: stamp(r.From)}, report.Fact{Label: l.Of("To", "结束"), Value: stamp(r.To)})
	}
	for _, f := range r.Files {
		if f.Trail != "" {
			facts = append(facts, report.Fact{Label: l.Of("Breaks off", "文件不完整"), Value: f.Name + l.Of(": ", "：") + f.why(l)})
		}
	}
	return facts
}

// why tells how a log broke off. What the system says it says in English.
func (f *File) why(l report.Lang) string {
	switch {
	case errors.Is(f.broke, io.ErrUnexpectedEOF):
		return l.Of("its end is missing", "缺少结尾部分")
	case errors.Is(f.broke, gzip.ErrChecksum), errors.As(f.broke, new(flate.CorruptInputError)):
		return l.Of("damaged", "数据已损坏")
	}
	return f.Trail
}

// short is for lists; the zone stands with the first and the last time.
func short(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") }

func (r *Result) routesSection(l report.Lang) report.Section {
	t := &report.Table{
		Head: []string{
			l.Of("route", "接口"), l.Of("writes", "写请求"), l.Of("repeated", "重复"), l.Of("share", "占比"),
			l.Of("likely cause", "最可能的原因"), l.Of("protect?", "要不要保护"),
		},
		Right: map[int]bool{1: true, 2: true, 3: true}, Whole: map[int]bool{4: true},
	}
	for i, route := range r.Routes {
		if i == shownRoutes || route.Repeated == 0 && i >= shownRoutes/2 {
			break
		}
		cause := "–"
		if route.Repeated > 0 {
			cause = route.Likely().Text(l)
		}
		t.Rows = append(t.Rows, []string{
			route.Method + " " + route.Path, report.Count(route.Writes), report.Count(route.Repeated),
			report.Percent(route.Repeated, route.Writes), cause, route.Worth.Text(l),
		})
	}
	s := report.Section{Title: l.Of("Routes", "各接口"), Table: t}
	if hidden := len(r.Routes) - len(t.Rows); hidden > 0 {
		s.Note = fmt.Sprintf(l.Of("The first %s of %s; --json has all.", "只列前 %s 个，一共 %s 个；--json 里有全部。"), report.Count(len(t.Rows)), report.Count(len(r.Routes)))
	}
	return s
}

// Text says what should be done.
func (w Worth) Text(l report.Lang) string {
	switch w {
	case Protect:
		return l.Of("yes", "要")
	case Harmless:
		return l.Of("no: by its name it may be repeated", "不用：看名字，重复也无妨")
	case Steady:
		return l.Of("no: it repeats on purpose", "不用：本来就在反复调用")
	case Refused:
		return l.Of("no: the site refused the repeats", "不用：重复的都被拒绝了")
	}
	return l.Of("no repeats", "没有重复")
}

func (r *Result) protectSection(l report.Lang) report.Section {
	s := report.Section{
		Title: l.Of("Worth protecting", "值得保护的接口"),
		Note:  l.Of("For the command line of the gateway, one line a route.", "网关的命令行参数，每个接口一行，可以直接复制。"),
		Lines: r.Protect,
	}
	if len(r.Protect) == 0 {
		s.Note = l.Of("None of these routes needs it.", "这些接口都用不着。")
	}
	return s
}

func (r *Result) causesSection(l report.Lang) report.Section {
	c := &report.Chart{}
	for _, cause := range Causes {
		if n := r.Causes[cause]; n > 0 {
			c.Bars = append(c.Bars, report.Bar{Label: cause.Text(l), Value: n})
		}
	}
	return report.Section{Title: l.Of("Likely causes", "可能的原因"), Chart: c,
		Note: l.Of("Judged by how the first request ended, by the agent and by the gap.", "根据第一次请求的结局、浏览器标识和间隔推断。")}
}

func (r *Result) hours() *report.Chart {
	c := &report.Chart{Upright: true}
	for h, n := range r.Hours {
		c.Bars = append(c.Bars, report.Bar{Label: fmt.Sprintf("%02d", h), Value: n})
	}
	return c
}

// statusSection adds up the pairs of all routes, the most frequent first.
func (r *Result) statusSection(l report.Lang) report.Section {
	t := &report.Table{
		Head:  []string{l.Of("route", "接口"), l.Of("first", "第一次"), l.Of("repeat", "重复那次"), l.Of("times", "次数")},
		Right: map[int]bool{1: true, 2: true, 3: true},
	}
	for _, route := range r.Routes {
		for i, pair := range route.Statuses {
			if i == 3 || len(t.Rows) == shownRoutes {
				break
			}
			t.Rows = append(t.Rows, []string{route.Method + " " + route.Path, code(pair.First), code(pair.Second), report.Count(pair.Count)})
		}
	}
	return report.Section{Title: l.Of("How the two ended", "两次各是什么状态码"), Table: t,
		Note: l.Of("499: the visitor was gone before the answer.", "499：还没等到响应，访客就断开了。")}
}

func code(status int) string {
	if status == 0 {
		return "–"
	}
	return fmt.Sprint(status)
}

func (r *Result) newestSection(l report.Lang) report.Section {
	t := &report.Table{
		Head: []string{
			l.Of("time", "时间"), l.Of("route", "接口"), l.Of("writes", "次数"), l.Of("gaps", "间隔"),
			l.Of("status", "状态码"), l.Of("address", "地址"),
		},
		Right: map[int]bool{2: true}, Whole: map[int]bool{0: true, 5: true},
	}
	full := false
	for _, g := range r.Newest {
		full = full || g.Visitor != ""
	}
	if full {
		t.Head = append(t.Head, l.Of("visitor", "访客"))
	}
	for _, g := range r.Newest {
		row := []string{short(g.First), g.Method + " " + g.Path, report.Count(g.Writes), g.gaps(l), g.statuses(), g.Address}
		if full {
			row = append(row, g.Visitor)
		}
		t.Rows = append(t.Rows, row)
	}
	return report.Section{Title: l.Of("The newest groups", "最近的几组"), Table: t}
}

func (g *Group) gaps(l report.Lang) string {
	var all []string
	for _, s := range g.Gaps {
		all = append(all, l.Gap(time.Duration(s*float64(time.Second)).Round(time.Millisecond)))
	}
	return g.more(strings.Join(all, ", "))
}

func (g *Group) statuses() string {
	var all []string
	for _, s := range g.Statuses {
		all = append(all, code(s))
	}
	return g.more(strings.Join(all, " → "))
}

func (g *Group) more(s string) string {
	if g.Writes > len(g.Statuses) {
		return s + " …"
	}
	return s
}

package find

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Page is the result for people.
func (r *Result) Page(l report.Lang) report.Page {
	p := report.Page{
		Title:  fmt.Sprintf(l.Of("Duplicate rows in %s", "%s 表里的重复记录"), r.Table),
		Lead:   r.lead(l),
		Found:  r.Found(),
		Facts:  r.facts(l),
		Limits: r.limits(l),
	}
	if r.Found() {
		p.Sections = []report.Section{
			r.causesSection(l),
			{Title: l.Of("How soon the next one came", "隔多久又来一条"), Chart: r.Gaps.Chart(l, r.window)},
			r.newestSection(l),
		}
	}
	return p
}

func (r *Result) lead(l report.Lang) string {
	if !r.Found() {
		return r.none(l)
	}
	s := fmt.Sprintf(l.Of("%s rows too many, in %s groups.", "多出 %s 条记录，分布在 %s 组里。"), report.Count(r.Surplus), report.Count(r.Groups))
	if r.Surplus == 1 {
		s = l.Of("One row too many.", "多出 1 条记录。")
	}
	if r.Total != "" {
		s += fmt.Sprintf(l.Of(" Their %s adds up to %s.", "它们的 %s 合计 %s。"), report.Clean(r.Sum), r.Total)
	}
	return s
}

// none counts the rows that were compared only.
func (r *Result) none(l report.Lang) string {
	switch n := r.Rows - r.Earlier - r.Timeless; n {
	case 0:
		return l.Of("There are no rows to compare.", "没有可比较的记录。")
	case 1:
		return l.Of("There is one row only: nothing to compare it with.", "只有 1 条记录，没有可以比较的。")
	default:
		return fmt.Sprintf(l.Of("None of %s rows has a duplicate within %s.", "%s 条记录，没有一条在 %s内重复。"), report.Count(n), l.Gap(r.window))
	}
}

func (r *Result) facts(l report.Lang) []report.Fact {
	facts := []report.Fact{
		{Label: l.Of("The same", "视为相同"), Value: strings.Join(r.Same, ", ") + proposed(l, r.Proposed)},
		{Label: l.Of("Time", "时间列"), Value: r.At + proposed(l, r.ProposedAt)},
		{Label: l.Of("Window", "时间窗"), Value: l.Gap(r.window)},
		{Label: l.Of("Rows read", "读取的记录"), Value: report.Count(r.Rows)},
		{Label: l.Of("Groups", "组数"), Value: report.Count(r.Groups)},
		{Label: l.Of("Rows too many", "多出的记录"), Value: report.Count(r.Surplus)},
	}
	if r.Total != "" {
		facts = append(facts, report.Fact{Label: fmt.Sprintf(l.Of("Sum of %s", "%s 合计"), report.Clean(r.Sum)), Value: r.Total})
	}
	if !r.Since.IsZero() {
		facts = append(facts, report.Fact{Label: l.Of("Only since", "只看此后"), Value: stamp(r.Since.In(r.location).Truncate(time.Second))})
	}
	if !r.From.IsZero() {
		facts = append(facts, report.Fact{Label: l.Of("From", "开始"), Value: stamp(r.From)}, report.Fact{Label: l.Of("To", "结束"), Value: stamp(r.To)})
	}
	if r.Where != "" {
		facts = append(facts, report.Fact{Label: l.Of("Only where", "条件"), Value: r.Where})
	}
	return facts
}

// zoneName says what the program calls Local.
func zoneName(l report.Lang, loc *time.Location) string {
	if loc == time.Local {
		return fmt.Sprintf(l.Of("this computer, now %s", "本机时区（目前 %s）"), time.Now().Format("-07:00"))
	}
	return l.Of(loc.String(), " "+loc.String()+" ")
}

func proposed(l report.Lang, was bool) string {
	if was {
		return l.Of(" (proposed)", "（自动选的）")
	}
	return ""
}

// short is for lists; the zone stands with the first and the last time.
func short(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05.999 -07:00") }

func (r *Result) causesSection(l report.Lang) report.Section {
	c := &report.Chart{}
	for _, cause := range Causes {
		n := r.Causes[cause]
		c.Bars = append(c.Bars, report.Bar{Label: cause.Text(l) + " " + report.Percent(n, r.Surplus), Value: n})
	}
	return report.Section{Title: l.Of("What it looks like", "像是怎么来的"), Chart: c,
		Note: l.Of("Judged by the gap alone.", "只根据间隔推断。")}
}

// Text names a cause.
func (c Cause) Text(l report.Lang) string {
	switch c {
	case DoubleClick:
		return l.Of("double click", "双击")
	case Retry:
		return l.Of("retry", "重试")
	case Callback:
		return l.Of("callback", "支付回调")
	}
	return l.Of("later", "隔了更久")
}

func (r *Result) newestSection(l report.Lang) report.Section {
	s := report.Section{Title: l.Of("The newest groups", "最近的几组")}
	t := &report.Table{
		Head:  []string{l.Of("first one", "第一条"), l.Of("rows", "条数"), l.Of("gaps", "间隔")},
		Right: map[int]bool{1: true}, Whole: map[int]bool{0: true},
	}
	if r.full {
		t.Head = append(t.Head, l.Of("ids", "编号"))
	} else {
		s.Note = l.Of("--full shows their ids.", "加 --full 显示编号。")
	}
	for _, g := range r.Newest {
		cells := []string{short(g.First), report.Count(g.Rows), g.gaps(l)}
		if r.full {
			cells = append(cells, g.ids())
		}
		t.Rows = append(t.Rows, cells)
	}
	s.Table = t
	return s
}

func (g *Group) gaps(l report.Lang) string {
	var all []string
	for _, s := range g.Gaps {
		all = append(all, l.Gap(time.Duration(s*float64(time.Second)).Round(time.Millisecond)))
	}
	return g.more(strings.Join(all, ", "))
}

// idRoom is how many characters of ids a list has room for; JSON has more of them.
const idRoom = 100

// ids are as many as there is room for, each of them whole: half of one finds no row.
func (g *Group) ids() string {
	n, room := 0, idRoom
	for ; n < len(g.IDs) && (n == 0 || room >= utf8.RuneCountInString(g.IDs[n])); n++ {
		room -= utf8.RuneCountInString(g.IDs[n] + ", ")
	}
	s := strings.Join(g.IDs[:n], ", ")
	if n < len(g.IDs) {
		return s + " …"
	}
	return g.more(s)
}

func (g *Group) more(s string) string {
	if g.Rows > shownRows {
		return s + " …"
	}
	return s
}

// limits says beside the figures what they cannot tell.
func (r *Result) limits(l report.Lang) []string {
	all := []string{l.Of("Equal columns close in time are no proof: a customer may really order the same twice. Look at a few of them.",
		"内容相同、时间相近，不等于一定是重复：也可能顾客真的买了两次。请抽几组核对一下。")}
	if len(r.LeftOut) > 0 {
		all = append(all, fmt.Sprintf(l.Of("Left out of the comparison: %s. --same chooses.", "没有参与比较的列：%s。可以用 --same 自己指定。"), report.CleanLong(strings.Join(r.LeftOut, ", "))))
	}
	if r.WholeSecs {
		all = append(all, l.Of("The time column has whole seconds: under 1 s means within the same second.", "时间列只精确到秒：“1 秒以内”是指同一秒。"))
	}
	if r.wall && r.location != time.UTC {
		all = append(all, fmt.Sprintf(l.Of("The times have no zone and are taken as those of %s (--tz). In the hour that the clock shows twice, the order of the ids tells the pass.",
			"时间列不带时区，按%s处理（--tz 可改）。夏令时结束、同一小时走两遍时，靠编号的先后区分。"), zoneName(l, r.location)))
	}
	if r.Timeless > 0 {
		all = append(all, fmt.Sprintf(l.Of("%s rows have no time, or one that stands for none (0, 1970-01-01), and were left out.", "有 %s 条记录没有时间，或者时间是 0、1970-01-01 这类占位值，未计入。"), report.Count(r.Timeless)))
	}
	if r.Late > 0 {
		all = append(all, fmt.Sprintf(l.Of("%s rows are older than rows with smaller ids; their duplicates are found among the next 50,000 ids.",
			"有 %s 条记录比编号更小的记录还早；它们的重复只在相邻的 5 万个编号里找。"), report.Count(r.Late)))
	}
	if r.Unadded > 0 {
		all = append(all, fmt.Sprintf(l.Of("%s values could not be added up.", "有 %s 个值无法相加。"), report.Count(r.Unadded)))
	}
	return all
}

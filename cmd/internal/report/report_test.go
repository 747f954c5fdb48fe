package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

func page(l report.Lang) report.Page {
	return report.Page{
		Title: l.Of("Title", "标题"), Lead: l.Of("Found.", "有。"), Found: true,
		Facts: []report.Fact{{Label: l.Of("rows", "行数"), Value: "3"}, {Label: l.Of("window", "窗"), Value: "<b>\x1b[31m" + strings.Repeat("x", 150)}},
		Sections: []report.Section{{
			Title: "S", Note: "N",
			Chart: &report.Chart{Bars: []report.Bar{{Label: "a", Value: 1}, {Label: "bc", Value: 1000}, {Label: "d"}}},
			Table: &report.Table{Head: []string{l.Of("name", "名"), "n"}, Right: map[int]bool{1: true}, Whole: map[int]bool{0: true}, Rows: [][]string{{"茶", "1"}, {"<script>x</script>", "1,000"}}},
			Lines: []string{"--protect 'POST /a'"},
		}},
		Limits: []string{l.Of("A limit: --within 1h, or not.", "限制。")},
	}
}

func text(t *testing.T, l report.Lang, colour bool) string {
	t.Helper()
	var b strings.Builder
	if err := report.Text(&b, page(l), colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextIsAligned(t *testing.T) {
	want := `标题

有。

  行数  3
  窗    <b>` + "\uFFFD" + `[31m` + strings.Repeat("x", 150) + `

S
  N
  a       1  █
  bc  1,000  ████████████████████████████████
  d       0
  名                      n
  茶                      1
  <script>x</script>  1,000
  --protect 'POST /a'

* 限制。
`
	if got := text(t, report.Chinese, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestColourIsAddedAndNothingElse(t *testing.T) {
	plain, coloured := text(t, report.English, false), text(t, report.English, true)
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[1;31mFound.\x1b[0m") {
		t.Errorf("plain\n%q\ncoloured\n%q", plain, coloured)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAFailedWriteIsTold(t *testing.T) {
	if err := report.Text(broken{}, page(report.English), false); err == nil {
		t.Error("a report that nobody got counts as written")
	}
}

func TestThePageNeedsNothingElse(t *testing.T) {
	var b strings.Builder
	if err := report.HTML(&b, report.Chinese, page); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, outside := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "<script"} {
		if strings.Contains(html, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	for _, want := range []string{
		`<html lang="zh-CN">`, `id="zh" checked`, "标题", ">Title<", "prefers-color-scheme: dark", `width="380"`, `class="right">1,000<`,
		`<div class="long"><dt>window</dt>`, `<div><dt>rows</dt>`, `<li>A limit: <span class="flag">--within 1h</span>, or not.</li>`, `class="whole">`, `width="2"`, `width="0"`,
		"&lt;script&gt;", "<svg", `name="viewport"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(html, `id="en" checked`) || strings.Contains(html, "ZgotmplZ") || strings.Contains(html, "\x1b") {
		t.Error("two languages are shown, or something was not escaped")
	}
}

// On a phone a row is a card: an address that is broken in two reads like another.
func TestALongValueHasALineOfItsCardToItself(t *testing.T) {
	for value, want := range map[string]bool{
		"POST /orders": false, "1,234,567": false, "双击": false, "502 → 302": false,
		"203.0.113.199": true, "2001:db8::1234": true, "POST /cart/checkout": true, "0.9 s, 0.12 s, 0.9 s, 4.99 s, 0.12 s": true, "看名字，重复也无妨": true,
	} {
		html := pageOf(t, report.Section{Table: &report.Table{Head: []string{"h"}, Rows: [][]string{{value}}}})
		if got := strings.Contains(html, "data-long>"+value+"<"); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}

func pageOf(t *testing.T, s report.Section) string {
	t.Helper()
	var b strings.Builder
	if err := report.HTML(&b, report.English, func(report.Lang) report.Page { return report.Page{Sections: []report.Section{s}} }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The names of 24 hours, or values of four digits, beside each other would be no
// more to be read.
func TestAnUprightChartHasRoomForItsTexts(t *testing.T) {
	c := &report.Chart{Upright: true}
	for h := range 24 {
		c.Bars = append(c.Bars, report.Bar{Label: "h", Value: h * 1000})
	}
	html := pageOf(t, report.Section{Chart: c})
	for text, want := range map[string]int{`class="label"`: 8, "<rect": 24, `height="120"`: 1, `height="0"`: 1, ">23,000</text>": 1, ",000</text>": 1} {
		if got := strings.Count(html, text); got != 2*want { // in two languages
			t.Errorf("%s: %d times, want %d", text, got, 2*want)
		}
	}
	c.Bars = c.Bars[:1]
	c.Bars = append(c.Bars, report.Bar{Label: "h", Value: 12}, report.Bar{Label: "h", Value: 999}, report.Bar{Label: "h", Value: 999})
	html = pageOf(t, report.Section{Chart: c})
	if strings.Count(html, "</text>") != 2*(2+3) || strings.Count(html, `class="peak"`) != 2 {
		t.Errorf("two labels, three values and one peak: %s", html[strings.Index(html, "<svg"):])
	}
}

func TestGapsLieBetweenTheirBounds(t *testing.T) {
	var g report.Gaps
	for _, d := range []time.Duration{0, time.Second - 1, time.Second, 5 * time.Second, 5*time.Second + time.Microsecond, time.Minute, 61 * time.Second, 2 * time.Hour} {
		g.Add(d)
	}
	if g != (report.Gaps{2, 2, 2, 1, 0, 1}) {
		t.Errorf("%v", g)
	}
	b, err := json.Marshal(g)
	if err != nil || string(b) != `{"10min_to_1h":0,"1min_to_10min":1,"1s_to_5s":2,"5s_to_1min":2,"over_1h":1,"under_1s":2}` {
		t.Errorf("%s, %v", b, err)
	}
	var none report.Gaps
	if n := len(none.Chart(report.English, 5*time.Second).Bars); n != 2 {
		t.Errorf("a window of 5 s fills %d buckets", n)
	}
}

func TestDueKnowsTheSchedules(t *testing.T) {
	for d, want := range map[time.Duration]bool{
		14 * time.Second: true, 15 * time.Second: true, 17 * time.Second: true, 19 * time.Second: false, 4 * time.Minute: true,
		time.Hour + time.Minute: true, 5 * time.Hour: false, 0: false,
	} {
		if report.Due(d) != want {
			t.Errorf("%s: %v", d, !want)
		}
	}
}

func TestFigures(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := report.Count(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 s", 1500 * time.Millisecond: "1.5 s", time.Minute: "60 s", 2 * time.Minute: "2 min", 10 * time.Minute: "10 min", 2*time.Hour - time.Second: "120 min", 3 * time.Hour: "3 h"} {
		if got := report.English.Gap(d); got != want {
			t.Errorf("%s is %s", d, got)
		}
	}
	if got := report.Chinese.Gap(5*time.Second) + report.Chinese.Gap(3*time.Minute) + report.Chinese.Gap(36*time.Hour); got != "5 秒3 分钟36 小时" {
		t.Errorf("in Chinese: %s", got)
	}
	if report.Percent(1, 300)+report.Percent(1, 3)+report.Percent(0, 0)+report.Percent(0, 9) != "0.3%33%–0%" {
		t.Error("percents")
	}
}

func TestCleanKeepsTextAndNothingElse(t *testing.T) {
	for s, want := range map[string]string{
		"订单 a": "订单 a", "a\x1b[2J\nb\u202e": "a\uFFFD[2J\uFFFDb\uFFFD", "\xff": "\uFFFD", strings.Repeat("x", 1000): strings.Repeat("x", 120) + "…",
		strings.Repeat("😀", 120): strings.Repeat("😀", 120), strings.Repeat("😀", 121): strings.Repeat("😀", 120) + "…",
	} {
		if got := report.Clean(s); got != want {
			t.Errorf("%q is %q", s, got)
		}
	}
}

func TestTheLanguageIsThatOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  map[string]string
		want report.Lang
	}{
		{"", nil, report.English}, {"", map[string]string{"LANG": "zh_CN.UTF-8"}, report.Chinese}, {"en", map[string]string{"LANG": "zh_CN.UTF-8"}, report.English},
		{"", map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, report.English}, {"zh", nil, report.Chinese},
	} {
		if got, err := report.ParseLang(c.flag, func(name string) string { return c.env[name] }); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	if _, err := report.ParseLang("fr", nil); err == nil {
		t.Error("fr was taken")
	}
}

package report

import (
	"bufio"
	"io"
	"strings"

	"golang.org/x/text/width"
)

// barWidth is the length of the longest bar of a chart, in characters.
const barWidth = 32

// Text writes a page for people; colour is for terminals.
func Text(w io.Writer, p Page, colour bool) error {
	t := &texter{Writer: bufio.NewWriter(w), colour: colour}
	t.line(t.paint(bold, Clean(p.Title)))
	t.line("")
	t.line(t.paint(verdict(p.Found), p.Lead))
	t.line("")
	t.facts(p.Facts)
	for _, s := range p.Sections {
		t.section(s)
	}
	if len(p.Limits) > 0 {
		t.line("")
	}
	for _, l := range p.Limits {
		t.line(t.paint(faint, "* "+l))
	}
	return t.Flush()
}

type texter struct {
	*bufio.Writer
	colour bool
}

// The colours of a terminal that are used here.
const (
	bold   = "1"
	faint  = "2"
	red    = "1;31"
	green  = "1;32"
	accent = "36"
)

func verdict(found bool) string {
	if found {
		return red
	}
	return green
}

func (t *texter) paint(code, s string) string {
	if !t.colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line writes one line; a failed write is told by Flush.
func (t *texter) line(s string) {
	_, _ = t.WriteString(strings.TrimRight(s, " ") + "\n")
}

func (t *texter) facts(facts []Fact) {
	widest := 0
	for _, f := range facts {
		widest = max(widest, columns(f.Label))
	}
	for _, f := range facts {
		t.line("  " + pad(f.Label, widest, false) + "  " + CleanLong(f.Value))
	}
}

func (t *texter) section(s Section) {
	t.line("")
	t.line(t.paint(bold, s.Title))
	if s.Note != "" {
		t.line("  " + t.paint(faint, s.Note))
	}
	if s.Chart != nil {
		t.chart(s.Chart)
	}
	if s.Table != nil {
		t.table(s.Table)
	}
	for _, l := range s.Lines {
		t.line("  " + t.paint(accent, CleanLong(l)))
	}
}

func (t *texter) chart(c *Chart) {
	widest, figure := 0, 0
	for _, b := range c.Bars {
		widest, figure = max(widest, columns(b.Label)), max(figure, len(Count(b.Value)))
	}
	for _, b := range c.Bars {
		n := b.Value * barWidth / c.Most()
		if b.Value > 0 && n == 0 {
			n = 1
		}
		bar := t.paint(accent, strings.Repeat("█", n))
		t.line("  " + pad(b.Label, widest, false) + "  " + pad(Count(b.Value), figure, true) + "  " + bar)
	}
}

func (t *texter) table(tab *Table) {
	widest := make([]int, len(tab.Head))
	rows := append([][]string{tab.Head}, tab.Rows...)
	for _, row := range rows {
		for i, cell := range row {
			widest[i] = max(widest[i], columns(Clean(cell)))
		}
	}
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = pad(Clean(cell), widest[i], tab.Right[i])
		}
		line := "  " + strings.TrimRight(strings.Join(cells, "  "), " ")
		if n == 0 {
			line = t.paint(faint, line)
		}
		t.line(line)
	}
}

func pad(s string, to int, right bool) string {
	space := strings.Repeat(" ", max(0, to-columns(s)))
	if right {
		return space + s
	}
	return s + space
}

// columns is the room that a text takes on a terminal: a Chinese character
// takes two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Package report shows what find and scan have seen: as text for a terminal, as
// JSON for programs, and as one self-contained HTML page for whoever decides.
// A report is built once for each language; the three forms have the same
// figures.
package report

import "slices"

// Page is a report in one language.
type Page struct {
	Title    string
	Lead     string // the answer, in one sentence
	Found    bool   // something was found
	Facts    []Fact
	Sections []Section
	Limits   []string // what the figures cannot tell
}

// Fact is a figure with its name.
type Fact struct {
	Label, Value string
}

// longFact is a value that gets a line of the page to itself.
const longFact = 40

// Long tells whether the value is a long one.
func (f Fact) Long() bool { return len([]rune(f.Value)) > longFact }

// Section is a part of a page; any of its parts may be missing.
type Section struct {
	Title string
	Note  string
	Chart *Chart
	Table *Table
	Lines []string // to be copied as they are
}

// Table has text to the left and, in the columns named by Right, figures to
// the right. Values of the columns named by Whole stay on one line.
type Table struct {
	Head  []string
	Right map[int]bool
	Whole map[int]bool
	Rows  [][]string
}

// Chart has one bar for each label.
type Chart struct {
	Upright bool // columns rather than lines; for many short labels
	Bars    []Bar
}

// Bar is one figure of a chart.
type Bar struct {
	Label string
	Value int
}

// Most returns the greatest value, and at least 1, so that it can divide.
func (c *Chart) Most() int {
	most := 1
	for _, b := range c.Bars {
		most = max(most, b.Value)
	}
	return most
}

// peak is the first of the greatest bars.
func (c *Chart) peak() int {
	most := c.Most()
	return slices.IndexFunc(c.Bars, func(b Bar) bool { return b.Value == most })
}

// Any tells whether there is anything to draw.
func (c *Chart) Any() bool {
	for _, b := range c.Bars {
		if b.Value > 0 {
			return true
		}
	}
	return false
}

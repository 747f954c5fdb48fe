package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
)

//go:embed page.html
var source string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"count": Count,
	"clean": Clean,
	"whole": CleanLong,
	"words": words,
	"long":  long,
	"draw":  draw,
}).Parse(source))

// HTML writes one page that needs nothing else: every language, with the first
// one shown at the start. Whatever came from a table or a log is escaped.
func HTML(w io.Writer, first Lang, build func(Lang) Page) error {
	type edition struct {
		Lang Lang
		Page Page
	}
	var editions []edition
	for _, l := range Langs {
		editions = append(editions, edition{l, build(l)})
	}
	return pageTemplate.Execute(w, map[string]any{"First": first, "Editions": editions})
}

// word is a part of a text: a flag of the command line, or what lies between.
type word struct {
	Text string
	Flag bool
}

var flag = regexp.MustCompile(`--[a-z]+( \d\w*)?`)

// words finds the flags, which no line break may cut in two.
func words(s string) []word {
	var all []word
	from := 0
	for _, at := range flag.FindAllStringIndex(s, -1) {
		all = append(all, word{Text: s[from:at[0]]}, word{Text: s[at[0]:at[1]], Flag: true})
		from = at[1]
	}
	return append(all, word{Text: s[from:]})
}

// cardRoom is how many characters of one word fit beside two other values of a
// card, which is what a row becomes on a phone.
const cardRoom = 11

// long tells whether a value gets a line of the card to itself: an address that is
// broken in two reads like another one.
func long(s string) bool {
	for word := range strings.FieldsSeq(Clean(s)) {
		if columns(word) > cardRoom {
			return true
		}
	}
	return columns(s) > 3*cardRoom
}

// drawing is a chart in the units of its SVG.
type drawing struct {
	Upright       bool
	Width, Height int
	Label         string // for those who cannot see it
	Shapes        []shape
}

type shape struct {
	Bar
	X, Y, W, H     int
	LabelX, LabelY int
	ValueX, ValueY int
	ShowLabel      bool
	ShowValue      bool
	Peak           bool // the value that is shown where there is room for one only
}

// Sizes of a drawing.
const (
	lineHeight = 46 // the label stands above its bar: it may be long
	lineWidth  = 480
	barRoom    = 380
	colWidth   = 22
	colHeight  = 120

	widestValue = 999 // above a column; where one is greater only the peak says its value
)

func draw(c *Chart) drawing {
	if c.Upright {
		return drawUpright(c)
	}
	d := drawing{Width: lineWidth, Height: lineHeight * len(c.Bars), Label: spoken(c)}
	for i, b := range c.Bars {
		w := atLeast(b, b.Value*barRoom/c.Most())
		y := i * lineHeight
		d.Shapes = append(d.Shapes, shape{
			Bar: b, X: 0, Y: y + 20, W: w, H: 16,
			LabelX: 0, LabelY: y + 14, ValueX: w + 8, ValueY: y + 33, ShowLabel: true, ShowValue: b.Value > 0,
		})
	}
	return d
}

func drawUpright(c *Chart) drawing {
	d := drawing{Upright: true, Width: colWidth*len(c.Bars) + 8, Height: colHeight + 40, Label: spoken(c)}
	most, peak := c.Most(), c.peak()
	for i, b := range c.Bars {
		h := atLeast(b, b.Value*colHeight/most)
		x := i*colWidth + 4
		d.Shapes = append(d.Shapes, shape{
			Bar: b, X: x + 3, Y: 16 + colHeight - h, W: colWidth - 6, H: h,
			LabelX: x + colWidth/2, LabelY: colHeight + 34, ValueX: x + colWidth/2, ValueY: 12 + colHeight - h,
			ShowLabel: i%3 == 0, ShowValue: b.Value > 0 && (most <= widestValue || i == peak), Peak: i == peak,
		})
	}
	return d
}

// atLeast lets the smallest figure be seen beside a great one.
func atLeast(b Bar, size int) int {
	if b.Value > 0 {
		return max(size, 2)
	}
	return size
}

func spoken(c *Chart) string {
	s := ""
	for _, b := range c.Bars {
		if b.Value > 0 {
			s += fmt.Sprintf("%s: %s. ", b.Label, Count(b.Value))
		}
	}
	return s
}

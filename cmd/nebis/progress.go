package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	w     io.Writer // nil: none
	total int       // 0: unknown
	done  int
	unit  string
	drawn time.Time
}

// redraw is how often the bar moves.
const redraw = 100 * time.Millisecond

func newProgress(e env, total int, unit string) *progress {
	if !isTerminal(e.stderr) {
		return &progress{}
	}
	return &progress{w: e.stderr, total: total, unit: unit}
}

func (p *progress) add(n int) { p.set(p.done + n) }

func (p *progress) set(done int) {
	p.done = done
	if p.w == nil || time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	fmt.Fprint(p.w, "\r"+p.line()+"\x1b[K")
}

// line is the bar as it stands.
func (p *progress) line() string {
	const length = 30
	if p.total <= 0 {
		return report.Count(p.done) + p.unit
	}
	n := min(length, p.done*length/p.total)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("█", n), strings.Repeat("·", length-n), min(100, p.done*100/p.total))
}

// clear takes the bar away, for what follows.
func (p *progress) clear() {
	if p.w != nil && !p.drawn.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Package figures is what is measured, whoever shows it: the names, and what adds up
// to them. A program that shows them is a Sink and little else.
package figures

import (
	"slices"
	"strings"
)

// Kind is how a figure behaves.
type Kind int

// The kinds.
const (
	Counter Kind = iota
	Histogram
	Gauge
)

// Seconds is the unit of times.
const Seconds = "s"

// A Figure is one thing that is measured.
type Figure struct {
	Kind   Kind
	Name   string // OpenTelemetry's
	Unit   string // of UCUM; in braces what is counted
	Help   string
	Labels []string
}

// Prometheus is the name there: what becomes of OpenTelemetry's by the usual
// translation, so that alerts and dashboards ask both for the same.
func (f *Figure) Prometheus() string {
	name := strings.ReplaceAll(f.Name, ".", "_")
	if f.Unit == Seconds {
		name += "_seconds"
	}
	if f.Kind == Counter {
		name += "_total"
	}
	return name
}

// Buckets of times, in seconds: from a replay out of memory to a wait that a person
// has given up.
var Buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func count(name, unit, help string, labels ...string) *Figure {
	return &Figure{Counter, name, "{" + unit + "}", help, labels}
}

func times(name, help string, labels ...string) *Figure {
	return &Figure{Histogram, name, Seconds, help, labels}
}

func gauge(name, unit, help string, labels ...string) *Figure {
	return &Figure{Gauge, name, unit, help, labels}
}

// Counted returns what the hooks of a program count.
func Counted() []*Figure {
	return []*Figure{operations, repeated, waits, runs, tries, tryTimes, answers, sweeps, sweptRows}
}

// Watched returns the gauges, each of which has the label table as well.
func Watched() []*Figure { return slices.Clone(watched) }

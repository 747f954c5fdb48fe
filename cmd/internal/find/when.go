package find

import (
	"strconv"
	"strings"
	"time"
)

// timer reads the values of the column with the time.
type timer struct {
	loc  *time.Location
	utc  bool // values without a zone are UTC, not the wall's
	last time.Time

	layout int
	wall   bool // a value without a zone was seen
	finer  bool // a value finer than a second was seen
}

// layouts of times as text; a fraction of a second is read as well.
var layouts = []string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700",
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05 -0700", "2006-01-02", "2006/01/02 15:04:05", "2006-01-02 15:04",
	"2006-01-02 15:04:05 -0700 MST", "20060102150405",
}

// earliest is 3 March 1973. What lies before it is no time when a row was made:
// 0, -1, 1970-01-01, 1000-01-01 stand for "never", an integer is an amount or a
// day such as 20260301.
const earliest = int64(1e8) * 1e6

// parse returns the instant in microseconds; false is a value that is none.
func (t *timer) parse(s string) (int64, bool) {
	at, ok := t.epoch(s)
	if !ok {
		at, ok = t.calendar(s)
	}
	if !ok || at < earliest {
		return 0, false
	}
	t.finer = t.finer || at%1e6 != 0
	return at, true
}

func (t *timer) calendar(s string) (int64, bool) {
	for i := range layouts {
		layout := layouts[(t.layout+i)%len(layouts)]
		when, err := time.ParseInLocation(layout, s, t.location())
		if err != nil {
			continue
		}
		t.layout = (t.layout + i) % len(layouts)
		if !strings.Contains(layout, "07") && !t.utc {
			t.wall = true
			when = t.pass(when)
		}
		t.last = when
		return when.UnixMicro(), true
	}
	return 0, false
}

func (t *timer) location() *time.Location {
	if t.utc {
		return time.UTC
	}
	return t.loc
}

// unit is what an integer counts, told by its size: seconds have ten digits
// until 2286, and reach back to 1973 with nine.
func unit(n int64) (perSecond int64) {
	switch {
	case n < 1e11:
		return 1
	case n < 1e14:
		return 1e3
	case n < 1e17:
		return 1e6
	}
	return 1e9
}

// plain writes a floating point without the exponent that drivers and databases
// give to a large one.
func plain(s string) string {
	if !strings.ContainsAny(s, "eE") {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func (t *timer) epoch(s string) (int64, bool) {
	if len(s) > 4 && s[4] == '-' {
		return 0, false
	}
	whole, fraction, dotted := strings.Cut(plain(s), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(whole) == len("20060102150405") {
		return 0, false
	}
	per := unit(n)
	at := n * (1e6 / min(per, 1e6)) / max(per/1e6, 1)
	if dotted && per == 1 {
		digits := (fraction + "000000")[:6]
		micros, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, false
		}
		at += micros
	}
	return at, true
}

// lateCommit is how much a row may be older than the one with the id before it,
// by transactions that took their time.
const lateCommit = 5 * time.Minute

// pass settles the hour that the clock shows twice when summer time ends: rows
// come in the order of their ids, so a time well before the row ahead of it
// belongs to the second pass.
func (t *timer) pass(when time.Time) time.Time {
	first, second := when, when.Add(time.Hour)
	if !sameWall(first, second) {
		first, second = when.Add(-time.Hour), when
	}
	if !sameWall(first, second) {
		return when // the clock shows it once
	}
	if t.last.After(first.Add(lateCommit)) {
		return second
	}
	return first
}

// sameWall tells instants that a clock on the wall shows alike.
func sameWall(a, b time.Time) bool {
	return a.Hour() == b.Hour() && a.Minute() == b.Minute()
}

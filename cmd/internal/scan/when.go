package scan

import (
	"bytes"
	"time"
)

// clock reads the times of logs; those without a zone are of its location.
type clock struct {
	loc *time.Location
}

const second = int64(time.Second / time.Microsecond)

// parse reads 02/Jan/2006:15:04:05 -0700, ISO 8601, and seconds, milliseconds
// or microseconds since 1970. It returns microseconds.
func (c clock) parse(b []byte) (int64, bool) {
	switch {
	case len(b) < 10:
		return 0, false
	case len(b) >= 20 && b[2] == '/' && b[6] == '/':
		return c.common(b)
	case b[4] == '-' && b[7] == '-':
		return c.iso(b)
	}
	return c.epoch(b)
}

var months = map[string]int{
	"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}

func (c clock) common(b []byte) (int64, bool) {
	month := months[string(b[3:6])]
	t, ok := clockTime(b[12:20])
	if month == 0 || !ok || b[11] != ':' {
		return 0, false
	}
	days, ok := date(number(b[7:11]), month, number(b[:2]))
	return c.zoned(days+t, 0, bytes.TrimPrefix(b[20:], []byte(" ")), ok)
}

func (c clock) iso(b []byte) (int64, bool) {
	if len(b) < 19 || b[10] != 'T' && b[10] != ' ' {
		return 0, false
	}
	t, ok := clockTime(b[11:19])
	days, valid := date(number(b[:4]), number(b[5:7]), number(b[8:10]))
	rest, fraction := b[19:], int64(0)
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		fraction, rest = micro(rest[1:])
	}
	return c.zoned(days+t, fraction, bytes.TrimPrefix(rest, []byte(" ")), ok && valid)
}

// zoned applies +0800, +08:00, Z or, without any, the location.
func (c clock) zoned(wall, fraction int64, zone []byte, ok bool) (int64, bool) {
	if !ok {
		return 0, false
	}
	offset := 0
	switch {
	case len(zone) == 0:
		t := time.Unix(wall, 0).UTC()
		at := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, c.location())
		return at.Unix()*second + fraction, true
	case zone[0] == 'Z' && len(zone) == 1:
	case len(zone) == 6 && zone[3] == ':':
		offset = number(zone[1:3])*3600 + number(zone[4:6])*60
	case len(zone) == 5:
		offset = number(zone[1:3])*3600 + number(zone[3:5])*60
	default:
		return 0, false
	}
	if len(zone) > 1 && (offset < 0 || zone[0] != '+' && zone[0] != '-') {
		return 0, false
	}
	if zone[0] == '-' {
		offset = -offset
	}
	return (wall-int64(offset))*second + fraction, true
}

// epoch tells the unit by the size: seconds have ten digits until 2286.
func (c clock) epoch(b []byte) (int64, bool) {
	whole, rest, _ := bytes.Cut(b, []byte("."))
	at := int64(number(whole))
	switch len(whole) {
	case 10:
		fraction, left := micro(rest)
		at, rest = at*second+fraction, left
	case 13:
		at *= 1000
	case 16:
	default:
		return 0, false
	}
	if at < 0 || len(rest) > 0 {
		return 0, false
	}
	return at, true
}

func (c clock) location() *time.Location {
	if c.loc == nil {
		return time.UTC
	}
	return c.loc
}

// number reads digits; -1 is anything else.
func number(b []byte) int {
	if len(b) == 0 || len(b) > 18 {
		return -1
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// micro reads the digits behind a point.
func micro(b []byte) (int64, []byte) {
	n, digits := int64(0), 0
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		if digits < 6 {
			n, digits = n*10+int64(b[0]-'0'), digits+1
		}
		b = b[1:]
	}
	for ; digits < 6; digits++ {
		n *= 10
	}
	return n, b
}

// clockTime reads 15:04:05; a leap second is the one after.
func clockTime(b []byte) (int64, bool) {
	h, m, s := number(b[:2]), number(b[3:5]), number(b[6:8])
	ok := b[2] == ':' && b[5] == ':' && h >= 0 && h < 24 && m >= 0 && m < 60 && s >= 0 && s <= 60
	return int64(h)*3600 + int64(m)*60 + int64(s), ok
}

// date is the seconds from 1970 to a day's beginning.
func date(y, m, d int) (int64, bool) {
	if y < 1970 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, false
	}
	if m <= 2 { // the year begins in March, so that the leap day is its last
		y, m = y-1, m+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 719469
	return int64(days) * 86400, true
}

package find

import (
	"slices"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// How long a row is remembered where rows come in the order of their ids, which
// is nearly that of their times: as long as it may have a duplicate by time, and
// for so many more rows, because rows of an import are all old.
const (
	keepRows  = 50_000
	keepTime  = int64(time.Hour / time.Microsecond)
	sweepRows = 20_000
	maxHeld   = 2_000_000
)

// row is what is remembered of one.
type row struct {
	at     int64 // microseconds
	id     string
	amount string
}

// bucket has the rows of equal columns, in the order of time.
type bucket struct {
	rows []row
	read int // when the last one was read
}

// tracker finds the groups among rows as they are read.
type tracker struct {
	window int64
	most   int  // rows that are held at once
	hold   bool // rows come in no order: forget nothing
	live   map[uint64]*bucket
	read   int
	held   int
	newest int64
	result *Result
}

func newTracker(window time.Duration, hold bool, result *Result) *tracker {
	return &tracker{window: window.Microseconds(), most: maxHeld, hold: hold, live: map[uint64]*bucket{}, result: result}
}

func (t *tracker) add(key uint64, r row) error {
	t.read++
	if r.at < t.newest-t.window-keepTime {
		t.result.Late++
	}
	t.newest = max(t.newest, r.at)
	b := t.live[key]
	if b == nil {
		b = &bucket{}
		t.live[key] = b
	}
	b.insert(r)
	b.read = t.read
	t.held++
	if t.read%sweepRows == 0 && !t.hold {
		t.sweep(false)
	}
	if t.held > t.most {
		return ErrTooMany
	}
	return nil
}

// insert keeps the order of time, and of reading for rows of one time.
func (b *bucket) insert(r row) {
	i := len(b.rows)
	for i > 0 && b.rows[i-1].at > r.at {
		i--
	}
	b.rows = slices.Insert(b.rows, i, r)
}

// sweep closes what can get no more members.
func (t *tracker) sweep(end bool) {
	for key, b := range t.live {
		last := b.rows[len(b.rows)-1].at
		if end || b.read+keepRows < t.read && last+t.window+keepTime < t.newest {
			t.close(b)
			t.held -= len(b.rows)
			delete(t.live, key)
		}
	}
}

// close cuts the rows into chains, within which each one comes at most the
// window after the one before it.
func (t *tracker) close(b *bucket) {
	from := 0
	for i := 1; i <= len(b.rows); i++ {
		if i < len(b.rows) && b.rows[i].at-b.rows[i-1].at <= t.window {
			continue
		}
		if i-from > 1 {
			t.result.group(b.rows[from:i])
		}
		from = i
	}
}

// causeOf judges by the gap alone: a table knows no more.
func causeOf(gap time.Duration) Cause {
	switch {
	case gap < time.Second:
		return DoubleClick
	case report.Due(gap):
		return Callback
	case gap <= time.Minute:
		return Retry
	}
	return Later
}

package scan

import "time"

// maxVisitors bounds what one generation remembers.
const maxVisitors = 1 << 16

// seen is the last write of a visitor.
type seen struct {
	write *write
	group *Group // once it was repeated
}

// repeats remembers who wrote what within the window, in two generations: when
// the younger one spans a window, the older one can go.
type repeats struct {
	window     int64
	young, old map[uint64]seen
	since      int64 // when the young one began
	last       int64
	result     *Result
}

func newRepeats(window time.Duration, result *Result) *repeats {
	return &repeats{window: window.Microseconds(), young: map[uint64]seen{}, result: result}
}

// take looks at the next write.
func (r *repeats) take(w *write) {
	r.age(w.at)
	w.route.Writes++
	r.result.Writes++
	before, ok := r.young[w.visitor]
	if !ok {
		before, ok = r.old[w.visitor]
	}
	now := seen{write: w}
	if ok {
		if gap := distance(before.write.at, w.at); gap <= r.window {
			now.group = r.repeat(before, w, time.Duration(gap)*time.Microsecond)
		}
	}
	if ok && before.write.at > w.at { // w is far out of order
		now.write = before.write
		if now.group == nil {
			now.group = before.group
		}
	}
	r.young[w.visitor] = now
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func (r *repeats) age(at int64) {
	if at < r.last {
		r.result.Late++
	}
	r.last = max(r.last, at)
	full := len(r.young) >= maxVisitors
	if at-r.since <= r.window && !full {
		return
	}
	if full && at-r.since <= r.window {
		r.result.Crowded = true
	}
	r.old, r.young, r.since = r.young, map[uint64]seen{}, at
}

func (r *repeats) repeat(before seen, w *write, gap time.Duration) *Group {
	g := before.group
	if g == nil {
		g = newGroup(before.write)
		r.result.Groups++
		w.route.Groups++
		r.result.newest.add(g)
	}
	g.add(w, gap)
	r.result.Repeated++
	r.result.Gaps.Add(gap)
	hour := time.UnixMicro(w.at).In(r.result.location).Hour()
	r.result.Hours[hour]++
	cause := causeOf(before.write, w, gap)
	r.result.Causes[cause]++
	w.route.repeat(before.write, w, gap, cause)
	w.route.Hours[hour]++
	return g
}

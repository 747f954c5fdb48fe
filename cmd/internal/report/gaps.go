package report

import (
	"encoding/json"
	"time"
)

// Gaps counts how long after the one before it a repeat came.
type Gaps [6]int

// upTo are the bounds; a gap belongs below the first one that exceeds it, and the
// last bucket has the rest. A gap of five seconds, the usual window, is still in
// "1 to 5 s".
var upTo = [...]time.Duration{time.Second, 5*time.Second + 1, time.Minute + 1, 10*time.Minute + 1, time.Hour + 1}

// Add counts one gap.
func (g *Gaps) Add(d time.Duration) {
	for i, bound := range upTo {
		if d < bound {
			g[i]++
			return
		}
	}
	g[len(upTo)]++
}

// Chart draws the buckets that a window of that length can fill.
func (g *Gaps) Chart(l Lang, window time.Duration) *Chart {
	labels := [...]string{
		l.Of("under 1 s", "1 秒以内"), l.Of("1 to 5 s", "1–5 秒"), l.Of("5 s to 1 min", "5 秒–1 分钟"),
		l.Of("1 to 10 min", "1–10 分钟"), l.Of("10 min to 1 h", "10 分钟–1 小时"), l.Of("over 1 h", "超过 1 小时"),
	}
	c := &Chart{}
	for i, n := range g {
		if i == 0 || n > 0 || window >= upTo[i-1] {
			c.Bars = append(c.Bars, Bar{labels[i], n})
		}
	}
	return c
}

// MarshalJSON names the buckets.
func (g Gaps) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{
		"under_1s": g[0], "1s_to_5s": g[1], "5s_to_1min": g[2], "1min_to_10min": g[3], "10min_to_1h": g[4], "over_1h": g[5],
	})
}

// Due tells whether a gap is one of those after which payment providers send a
// callback again (Alipay, WeChat Pay), with the little that their queues add.
func Due(gap time.Duration) bool {
	for _, s := range []time.Duration{
		15 * time.Second, 30 * time.Second, 3 * time.Minute, 4 * time.Minute, 10 * time.Minute, 20 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 15 * time.Hour,
	} {
		if d := gap - s; d >= -time.Second && d <= 2*time.Second+s/50 {
			return true
		}
	}
	return false
}

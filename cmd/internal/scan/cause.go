package scan

import (
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// Cause is why a write was probably sent again.
type Cause string

// The causes that a log can show.
const (
	DoubleClick Cause = "double_click"
	Retry       Cause = "retry"
	Resent      Cause = "resent"
	Callback    Cause = "callback"
	ByHand      Cause = "by_hand"
)

// Causes are all of them, the most telling first.
var Causes = []Cause{DoubleClick, Retry, Resent, Callback, ByHand}

// statusClientGone is nginx's own: the visitor closed the connection.
const statusClientGone = 499

// clickTwice is how far apart two clicks of a hasty visitor are.
const clickTwice = 2 * time.Second

// causeOf judges by how the first one ended, and by the gap.
func causeOf(first, second *write, gap time.Duration) Cause {
	switch {
	case first.gone && !first.slow && !first.program:
		// The browser gives up the first request when the button is hit again.
		return DoubleClick
	case first.gone || first.slow || first.status >= 500 || first.status == 408 || first.status == 429:
		return Retry
	case first.status == 0 || first.status == 444:
		return Resent
	case (first.program || isCallback(first.route.Path)) && report.Due(gap):
		return Callback
	case first.program:
		return Resent
	case gap <= clickTwice:
		return DoubleClick
	}
	return ByHand
}

// Text names a cause.
func (c Cause) Text(l report.Lang) string {
	switch c {
	case DoubleClick:
		return l.Of("double click", "双击")
	case Retry:
		return l.Of("retry after an error or time-out", "出错或超时后重试")
	case Resent:
		return l.Of("re-sent by connection or program", "连接或程序自动重发")
	case Callback:
		return l.Of("provider's callback, on its schedule", "支付平台按计划重发回调")
	}
	return l.Of("sent again by hand (back, reload)", "手动重发（后退、刷新）")
}

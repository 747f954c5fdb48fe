package scan

import (
	"fmt"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// limits says beside the figures what a log cannot know.
func (r *Result) limits(l report.Lang) []string {
	all := []string{
		l.Of("A log has no request bodies: two different orders by one visitor, of the same length, look like one sent twice.",
			"日志里没有请求正文：同一个访客接连下的两张不同的单，只要长度一样，看上去就像提交了两次。"),
		l.Of("A visitor is an address with a browser (and user, cookie, request length, where they are logged): people behind one address with the same browser are one.",
			"访客是按地址加浏览器标识来认的（日志里有用户名、cookie、请求长度的也算上）：同一个出口地址后面、用同样浏览器的几个人，会被当成一个人。"),
		l.Of("Whether the repeat did harm is in the database: nebis find looks there.",
			"重复有没有真的造成损失，要看数据库：用 nebis find 去查。"),
	}
	if r.window < time.Minute && r.hasCallback() {
		all = append(all, l.Of("There are callback routes here. Providers send again after 15 seconds to hours: scan once more with --within 1h.",
			"这里有回调接口。支付平台会在 15 秒到几小时之后重发：请加 --within 1h 再扫一遍。"))
	}
	for _, f := range r.Files {
		switch {
		case f.Twin != "":
			all = append(all, fmt.Sprintf(l.Of("%s is the same log as %s, and was read once.", "%s 和 %s 是同一份日志，只读一次。"), report.Clean(f.Name), report.Clean(f.Twin)))
		case f.Broken > 0 && f.Broken == f.Lines:
			all = append(all, fmt.Sprintf(l.Of("No line of %s could be read: is it another log, or does it need --format?", "%s 一行也没看懂：是别的日志，还是要用 --format 说明格式？"), report.Clean(f.Name)))
		}
	}
	if r.Late > 0 {
		all = append(all, fmt.Sprintf(l.Of("%s writes were over a minute out of order; some of their repeats may be missing.",
			"有 %s 次写请求的时间错位超过一分钟，它们的重复可能没有数全。"), report.Count(r.Late)))
	}
	if r.Crowded {
		all = append(all, l.Of("There were more visitors within the window than are remembered; some repeats may be missing. A shorter --within helps.",
			"时间窗内的访客太多，没法全记住，可能漏掉一些重复。把 --within 改短一些再试。"))
	}
	return all
}

func (r *Result) hasCallback() bool {
	for _, route := range r.Routes {
		if isCallback(route.Path) {
			return true
		}
	}
	return false
}

package gateway

import (
	"cmp"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// proposal is what would have stopped a route's repeats: a line of flags, and
// before it, as a comment of the shell, what has to be done besides.
func (r *observed) proposal(l report.Lang) []string {
	line := "--protect " + report.ShellQuote(r.name)
	for _, page := range r.mostPages() {
		line += " --forms " + report.ShellQuote(page)
	}
	var todo []string
	if r.pageless > 0 && len(r.pages) == 0 {
		todo = append(todo, l.Of("# its form had no key, and the browser did not say its page: add --forms 'GET /the-page-of-the-form'",
			"# 表单里没有键，浏览器也没说表单在哪一页：请加上 --forms 'GET /表单所在的页面'"))
	}
	if r.others > 0 {
		todo = append(todo, l.Of("# "+report.Count(r.others)+" came without a key, and not from a form: have the sender send Idempotency-Key, or name in a file (key:) the fields that tell one operation from the next",
			"# 有 "+report.Count(r.others)+" 次没带键，也不是表单：请让发送方带上 Idempotency-Key，或者在配置文件的 key: 里写明用哪些字段区分"))
	}
	return append(todo, line)
}

// proposedPages is how many pages a line names: a form in the head of each page of
// a site would make it endless.
const proposedPages = 5

func (r *observed) mostPages() []string {
	pages := slices.SortedFunc(maps.Keys(r.pages), func(a, b string) int {
		return cmp.Or(r.pages[b]-r.pages[a], strings.Compare(a, b))
	})
	return pages[:min(len(pages), proposedPages)]
}

// pageBefore is the page of this site that a write came from, as a pattern.
func pageBefore(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host || r.Host == "" {
		return ""
	}
	page := "GET " + foldPath(u) + foldQuery(u.RawQuery)
	if _, err := ParsePattern(page); err != nil {
		return ""
	}
	return page
}

// isForm reports whether a body is of a kind that forms have.
func isForm(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data"
}

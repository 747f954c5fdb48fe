package nebishttp

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

// page is what a person reads: what happened, and what to do now.
type page struct{ Title, Text string }

var pages = map[string]map[string]page{
	"en": {
		"in-progress":     {"Still being processed", "We have received this and are working on it. Wait a moment, then reload this page and let the browser send the form again: it will not be done twice."},
		"mismatch":        {"This form has been used", "This form was sent before with other contents, and that was carried out. To send this as well, press the button or open the form again."},
		"key-missing":     {"Please open the form again", "The form came without its number, so it could not be protected against being sent twice. Nothing was done. Go back, reload the page and send it again."},
		"key-malformed":   {"Please open the form again", "The number that protects this form against being sent twice is damaged. Nothing was done. Go back, reload the page and send it again."},
		"body-unreadable": {"The form did not arrive whole", "Nothing was done. Please send it again."},
		"body-too-large":  {"Too large", "What you sent is larger than this site accepts. Nothing was done."},
		"not-kept":        {"Already done", "This was carried out before and was not repeated. Its answer is no longer kept."},
		"unknown":         {"We cannot tell whether this was done", "What you sent may or may not have gone through. Please do not simply send it again: first check whether it is there, or ask us."},
		"unavailable":     {"Not available just now", "We could not finish this. Wait a moment, then reload this page and let the browser send the form again: it will not be done twice."},
		"no-database":     {"Not available just now", "Nothing was done. Please try again in a moment."},
		"unauthenticated": {"Please sign in", "Sign in, then send the form again. Nothing was done."},
		"internal":        {"Something went wrong", "The mistake is ours. Please try again later."},
	},
	"zh": {
		"in-progress":     {"正在处理", "我们已收到您的提交，正在处理。请稍候再刷新本页，并允许浏览器重新提交表单：不会重复执行。"},
		"mismatch":        {"此表单已使用过", "这张表单之前已用不同的内容提交，并已处理。如果确实要再提交这一次，请点下面的按钮，或重新打开表单。"},
		"key-missing":     {"请重新打开表单", "表单缺少防止重复提交的编号，未做任何操作。请返回并刷新页面，然后重新提交。"},
		"key-malformed":   {"请重新打开表单", "表单中防止重复提交的编号已损坏，未做任何操作。请返回并刷新页面，然后重新提交。"},
		"body-unreadable": {"表单没有完整送达", "未做任何操作，请重新提交。"},
		"body-too-large":  {"内容过大", "您提交的内容超过了本站允许的大小，未做任何操作。"},
		"not-kept":        {"已经完成", "这项操作之前已经执行，没有重复执行。当时的结果已不再保存。"},
		"unknown":         {"无法确定是否已完成", "您刚才提交的内容可能已经生效，也可能没有。请不要直接再次提交：先查看是否已有结果，或联系我们。"},
		"unavailable":     {"暂时无法处理", "我们没能完成这项操作。请稍候再刷新本页，并允许浏览器重新提交表单：不会重复执行。"},
		"no-database":     {"暂时无法处理", "未做任何操作，请稍后再试。"},
		"unauthenticated": {"请先登录", "请登录后重新提交表单，未做任何操作。"},
		"internal":        {"出错了", "是我们的问题，请稍后再试。"},
	},
}

// labels are what a page's link and button say.
type labels struct {
	First string // the link to the first result
	Look  string // the link to where a person sees whether it has been done
	Done  string // the link to where a person sees what has been done
	Again string // the button that sends the form again
	Anew  string // the same where it may have gone through
}

var texts = map[string]labels{
	"en": {"See the first result", "Check whether it is there", "See what was done", "Send this as a new one", "It is not there: send it again"},
	"zh": {"查看第一次的结果", "查看是否已有结果", "查看处理结果", "作为新的一次提交", "确认没有，再提交一次"},
}

// The link, which does nothing, catches the eye before the button.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>body{font:1.1em/1.6 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em}h1{font-size:1.5em;line-height:1.3}
a,button{display:inline-block;font:inherit;padding:.4em 1em;border:1px solid;border-radius:.3em;background:none;color:inherit}
a{border-color:#0b57d0;background:#0b57d0;color:#fff;text-decoration:none}</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{with .Location}}<p><a href="{{.}}">{{$.First}}</a></p>
{{end}}{{with .LookAt}}<p><a href="{{.}}">{{$.Look}}</a></p>
{{end}}{{.Button}}`))

func writePage(w http.ResponseWriter, r *http.Request, p Problem) {
	lang := language(r.Header["Accept-Language"])
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", lang)
	h.Add("Vary", "Accept-Language")
	text := texts[lang]
	button := text.Again
	if p.name == unknown.name {
		button = text.Anew
	}
	if p.name == notKept.name {
		text.Look = text.Done
	}
	form := p.Again(w, r, button)
	w.WriteHeader(p.Status)
	_ = pageTemplate.Execute(w, struct {
		page
		labels
		Lang, Location, LookAt string
		Button                 template.HTML
	}{pages[lang][p.name], text, lang, p.Location, p.Look, form})
}

// language returns the language of ours that the client likes best.
func language(lines []string) string {
	best, most := "en", 0.0
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag, params, _ := strings.Cut(part, ";")
		lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		if q := quality(params); pages[lang] != nil && q > most {
			best, most = lang, q
		}
	}
	return best
}

// quality reads the weight among the parameters of an Accept header's part. Words
// that are no weight do not take anything away.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if q, err := strconv.ParseFloat(value, 64); err == nil && strings.EqualFold(name, "q") {
			return q
		}
	}
	return 1
}

package gateway

import (
	"encoding/json"
	"errors"
	"html/template"
	"net"
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// unreachable answers where the site does not.
func (g *Gateway) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r.Context())
	c.err = err
	open := writes(r.Method) && !neverSent(err)
	clear(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if strings.Contains(strings.ToLower(strings.Join(r.Header["Accept"], ",")), "text/html") {
		downPage(w, r, open)
		return
	}
	downProblem(w, open)
}

// neverSent reports whether nothing of the request can have reached the site.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func downProblem(w http.ResponseWriter, open bool) {
	detail := "The site behind the gateway could not be reached. Nothing was done."
	if open {
		detail = "The site behind the gateway did not answer. The request may or may not have taken effect."
	}
	body, _ := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", "Bad Gateway", http.StatusBadGateway, detail})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(append(body, '\n'))
}

type downText struct{ Lang, Title, Text string }

// downTexts are by language, and by whether it is open what happened.
var downTexts = [2]map[bool]downText{
	{
		false: {"en", "Not available just now", "The site cannot be reached. Nothing was done. Please try again in a moment."},
		true:  {"en", "We cannot tell whether this was done", "The site did not answer. What you sent may or may not have gone through. Please check whether it is there before you send it again."},
	},
	{
		false: {"zh-CN", "暂时无法访问", "网站暂时连接不上，未做任何操作。请稍后再试。"},
		true:  {"zh-CN", "无法确定是否已完成", "网站没有回应。您刚才提交的内容可能已经生效，也可能没有。请先查看是否已有结果，再决定要不要重新提交。"},
	},
}

var languages = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

var downTemplate = template.Must(template.New("down").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>body{font:1.1em/1.6 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em}h1{font-size:1.5em;line-height:1.3}</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
`))

func downPage(w http.ResponseWriter, r *http.Request, open bool) {
	_, i := language.MatchStrings(languages, r.Header.Get("Accept-Language"))
	text := downTexts[i][open]
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", text.Lang)
	h.Add("Vary", "Accept-Language")
	w.WriteHeader(http.StatusBadGateway)
	_ = downTemplate.Execute(w, text)
}

package browser

import (
	"context"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/nebishttp"
)

// pictures is for whoever wants to look at what these tests have measured:
//
//	go test ./cmd/internal/browser -run CanBeRead -pictures ../../../bin
var pictures = flag.String("pictures", "", "folder to put pictures of the refusals into")

// view is how a person sees a page.
type view struct {
	name, lang, scheme string
	width              int64
}

var views = []view{
	{"en", "en", "light", 1280}, {"zh", "zh-CN", "light", 1280}, {"en-dark", "en", "dark", 1280}, {"zh-dark", "zh-CN", "dark", 1280},
	{"en-phone", "en", "light", 320}, {"zh-phone", "zh-CN", "light", 320},
	{"en-phone-dark", "en", "dark", 320}, {"zh-phone-dark", "zh-CN", "dark", 320},
}

func (v view) take() step {
	return chromedp.Steps(chromedp.EmulateViewport(v.width, 640), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: v.scheme}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{scheme}})
		if err == nil {
			_, err = cdp.Call(ctx, target, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": v.lang}})
		}
		return err
	}))
}

// unreadable names what is too faint against its background (below 4.5 to 1, as WCAG
// asks), and what is wider than the page.
const unreadable = `(() => {
	const canvas = document.body.appendChild(document.createElement("i"))
	canvas.style.background = "Canvas"
	const numbers = color => color.match(/[\d.]+/g).map(Number)
	const light = color => numbers(color).slice(0, 3).map(c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0)
	const behind = e => !e ? getComputedStyle(canvas).backgroundColor
		: numbers(getComputedStyle(e).backgroundColor)[3] === 0 ? behind(e.parentElement) : getComputedStyle(e).backgroundColor
	const found = []
	for (const e of document.querySelectorAll("h1, p, a, button")) {
		const [dark, bright] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => a - b)
		const contrast = (bright + .05) / (dark + .05), {left, right} = e.getBoundingClientRect()
		if (contrast < 4.5) found.push(e.tagName + " has a contrast of " + contrast.toFixed(1))
		if (left < 0 || right > innerWidth || e.scrollWidth > e.clientWidth && e.clientWidth) found.push(e.tagName + " is cut off")
	}
	canvas.remove()
	return found.join(", ")
})()`

// A refusal of ours stands alone, without the site's own style sheet.
func TestTheRefusalsCanBeRead(t *testing.T) {
	t.Parallel()
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s, b := newSite(t), newWindow(t, browser(t))
			s.route = &nebishttp.Route{Wait: -1}
			form := visit(s.url + "/form?look=" + plain)
			b.do(v.take(), form, order, result, back(), fill(plainForm, "coffee"), order)
			b.readable(v, "mismatch")
			s.slow()
			b.do(form, twice(s.arrived(3)))
			b.readable(v, "in-progress")
			s.hurry()
			s.next(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				nebishttp.WriteError(w, r, nebis.ErrLost)
			})
			b.do(form, order)
			b.readable(v, "unknown")
		})
	}
}

// titles are the first words of the refusals.
var titles = map[string]map[string]string{
	"en":    {"mismatch": "This form has been used", "in-progress": "Still being processed", "unknown": "We cannot tell"},
	"zh-CN": {"mismatch": "此表单已使用过", "in-progress": "正在处理", "unknown": "无法确定"},
}

func (b tab) readable(v view, name string) {
	b.t.Helper()
	b.do(says(titles[v.lang][name]))
	if found := b.eval(unreadable); found != "" {
		b.t.Errorf("%s: %s", name, found)
	}
	if dark := b.eval(`getComputedStyle(document.querySelector("h1")).color`); (dark == "rgb(255, 255, 255)") != (v.scheme == "dark") {
		b.t.Errorf("%s: the colour of the text is %s, not of a %s page", name, dark, v.scheme)
	}
	b.picture(name + "-" + v.name)
}

func (b tab) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

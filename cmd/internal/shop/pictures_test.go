package shop

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// pictures is where TestPictures puts its files. docs/img has some of them:
//
//	go test ./cmd/internal/shop -run Pictures -pictures ../../../bin
var pictures = flag.String("pictures", "", "folder to put pictures of the pages into, for the documentation")

// look is how a visitor sees the shop.
type look struct {
	name, lang, scheme string
	width              int64
}

// TestPictures photographs the story of the shop, as different people see it.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("skipped: no -pictures folder")
	}
	b := browser(t, "en")
	for _, l := range []look{
		{"en", "en", "light", 1280},
		{"zh", "zh", "light", 1280},
		{"en-dark", "en", "dark", 1280},
		{"zh-dark", "zh", "dark", 1280},
		{"en-phone", "en", "light", 390},
		{"zh-phone", "zh", "light", 390},
		{"en-phone-dark", "en", "dark", 390},
		{"zh-phone-dark", "zh", "dark", 390},
	} {
		t.Run(l.name, func(t *testing.T) { photograph(visit(t, b), l) })
	}
}

func photograph(v tab, l look) {
	v.do(chromedp.EmulateViewport(l.width, 720), prefer(l.scheme), open(v.base+"/?lang="+l.lang))
	v.take(l, "goods")
	v.do(open(v.base + "/goods/tea"))
	v.take(l, "forms")
	v.do(v.doubleClick("#guarded button"), result(say(langName(l.lang), "sent_once", times(langName(l.lang), 2))))
	v.take(l, "once")
	v.do(back(), click("#guarded button"), result(say(langName(l.lang), "sent_once", times(langName(l.lang), 3))))
	v.do(open(v.base+"/goods/tea"), v.doubleClick("#naive button"), result(say(langName(l.lang), "sent_n", times(langName(l.lang), 2), times(langName(l.lang), 2))))
	v.take(l, "twice")
	v.do(open(v.base+"/goods/last-cup"), set("#guarded-delay", "0"), click("#guarded button"), result(""))
	v.do(open(v.base + "/orders"))
	v.take(l, "orders")
	v.do(open(v.base+"/goods/last-cup"), set("#guarded-delay", "0"), click("#guarded button"), shown("^/orders$", say(langName(l.lang), "out_title")))
	v.take(l, "soldout")
	v.do(open(v.base+"/goods/tea"), script(`document.querySelector("#guarded").noValidate = true`), set("#guarded-qty", "0"), click("#guarded button"), until(`document.querySelector("[role=alert]")`), painted)
	v.take(l, "refused")
	v.do(open(v.base+"/basket"), click("#more"), until(`!document.querySelector("#order button").disabled`), painted)
	v.take(l, "basket")
	v.do(open(v.base+"/batch"), click("#batch button"), until(`document.querySelector(".lines")`), painted)
	v.take(l, "batch")
	v.do(open(v.base+"/goods/tea"), set("#guarded-delay", "0"), click("#guarded button"), result(""),
		back(), set("#guarded-qty", "2"), click("#guarded button"), until(`document.querySelector(".anew")`), painted)
	v.take(l, "mismatch")
	v.do(open(v.base + "/free"))
	v.take(l, "free")
	v.do(open(v.base+"/client"), click("#hasty"), is("outcome", "replayed"))
	v.take(l, "client")
	v.do(v.arrives(click("#slow")), set("#qty", "2"), click("#slow"), until(`!document.querySelector("#ask").hidden`))
	v.take(l, "ask")
	v.do(open(v.base+"/goods/tea"), set("#guarded-delay", "0"), set("#guarded-fail", "error"), click("#guarded button"), shown("^/orders$", say(langName(l.lang), "fail_title")))
	v.take(l, "failed")
	v.do(open(v.base+"/goods/tea"), script(`document.querySelector("#guarded").elements.idempotency_key.remove()`), set("#guarded-delay", "0"), click("#guarded button"), result(""))
	v.take(l, "keyless")
	v.do(open(v.base + "/orders/999"))
	v.take(l, "none")
	photographPayment(v, l)
}

// photographPayment photographs an order that is paid, and then cancelled.
func photographPayment(v tab, l look) {
	(till{v.client, v.shop}).works()
	v.do(open(v.base+"/goods/biscuits"), set("#guarded-delay", "0"), click("#guarded button"), result(""))
	v.take(l, "order")
	v.do(click(".actions .button"), shown("^/provider/", ""))
	v.take(l, "provider")
	v.do(set("#drop", "1"), set("#coupon", "twice"), click("#pay button"), until(`document.querySelector(".shots")`), painted)
	v.take(l, "callbacks")
	v.do(click(".shots + .actions .button"), tells(say(langName(l.lang), "life_event_coupon")))
	v.take(l, "life")
	v.do(click(".eyebrow a"), until(`document.querySelector("#cancel")`), painted)
	v.take(l, "paid")
	v.do(set("#refund", "never"), click("#cancel button"), tells(say(langName(l.lang), "life_event_credited", "360")), tells(say(langName(l.lang), "life_event_withdrawn")))
	v.take(l, "cancelled")
}

func langName(short string) string {
	name, _ := langNamed(short)
	return name
}

// prefer sets what the visitor's system prefers, light or dark.
func prefer(scheme string) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		feature := emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{&feature}})
		return err
	})
}

func (v tab) take(l look, name string) {
	v.t.Helper()
	v.do(script(`document.activeElement.blur(); scrollTo(0, 0)`))
	png, err := chromedp.Run(v.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+"-"+l.name+".png"), png, 0o644); err != nil {
		v.t.Fatal(err)
	}
}

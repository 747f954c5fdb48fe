package shop

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The buttons of the client's page.
const (
	plainButton = "#plain"
	slowButton  = "#slow"
	hastyButton = "#hasty"
	lostButton  = "#lost"
)

func (v tab) openClient() { v.do(open(v.base + "/client")) }

// storied waits until the page has told that.
func storied(words string) step {
	return until(fmt.Sprintf(`document.querySelector("#story").textContent.includes(%q)`, words))
}

// is waits until one of the facts beside the story is that.
func is(fact, value string) step {
	return until(fmt.Sprintf(`document.querySelector("#%s").textContent == %q`, fact, value))
}

// keyShown is the shortened key on the page.
func (v tab) keyShown() string {
	v.t.Helper()
	key, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`document.querySelector("#key").textContent`))
	if err != nil || len(key) < 12 {
		v.t.Fatalf("the key is %q: %v", key, err)
	}
	return key
}

func clientOrders(v tab) {
	v.openClient()
	v.do(click(plainButton), is("outcome", "created"), is("tries", "1"))
	first := v.keyShown()
	v.do(click(plainButton), until(`document.querySelector("#result").pathname == "/orders/2"`))
	if v.keyShown() == first {
		v.t.Error("two orders, one key")
	}
	v.wantOrders(2)
	v.do(click("#result"), result("Ordered."))
}

func clientShares(v tab) {
	v.openClient()
	v.do(v.arrives(click(slowButton)), click(slowButton), click(slowButton), click(slowButton), click(slowButton),
		is("outcome", "created"), storied("Click 5 sent nothing"))
	v.wantOrders(1)
	v.wantSent(1)
}

func clientWaits(v tab) {
	v.openClient()
	v.do(click(hastyButton), storied("No answer."), storied("The shop answered 409 (in-progress)"), is("outcome", "replayed"))
	v.wantOrders(1)
}

func clientLoses(v tab) {
	v.openClient()
	v.do(click(lostButton), is("outcome", "replayed"))
	v.wantOrders(1)
	v.wantSent(3)
}

func clientReloads(v tab) {
	v.openClient()
	v.do(v.arrives(click(slowButton)))
	key := v.keyShown()
	v.do(chromedp.Reload(), painted, storied("An order from before the reload"))
	if v.keyShown() != key {
		v.t.Errorf("the key was %s and is %s", key, v.keyShown())
	}
	v.do(click(slowButton), is("outcome", "replayed"))
	v.wantOrders(1)
}

func clientAsks(v tab) {
	v.openClient()
	asked := until(`!document.querySelector("#ask").hidden`)
	v.do(v.arrives(click(slowButton)), set("#qty", "2"), click(slowButton), asked, click("#leave"), is("outcome", "created"))
	v.wantOrders(1)
	v.do(set("#qty", "3"), v.arrives(click(slowButton)), set("#qty", "4"), click(slowButton), asked, click("#anew"),
		until(`document.querySelector("#result").pathname == "/orders/3" && !document.querySelector("#after").hidden`))
	v.wantOrders(3)
}

func clientOffline(v tab) {
	v.openClient()
	v.do(offline(true), click(plainButton), storied("No network."))
	v.wantOrders(0)
	v.do(offline(false), is("outcome", "created"))
	v.wantOrders(1)
}

// offline takes the network away, or brings it back.
func offline(gone bool) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{Offline: gone, DownloadThroughput: -1, UploadThroughput: -1}},
		})
		if err == nil {
			_, err = cdp.Call(ctx, target, network.OverrideNetworkState, network.OverrideNetworkStateParams{
				Offline: gone, DownloadThroughput: -1, UploadThroughput: -1,
			})
		}
		return err
	})
}

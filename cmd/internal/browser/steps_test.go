package browser

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// script runs JavaScript in the page, as if the person had touched it.
func script(code string) step {
	return chromedp.Evaluate[chromedp.Void](code, func(p *runtime.EvaluateParams) { p.UserGesture = yes() })
}

func yes() *bool { v := true; return &v }

// set fills in a field. (The test tool's own ways to find an element hang on a
// page out of the back/forward cache.)
func set(selector, value string) step {
	return script(fmt.Sprintf("document.querySelector(%q).value = %q", selector, value))
}

// click clicks on an element once.
func click(selector string) step { return clicks(selector) }

// clicks clicks on an element, takes the steps, and clicks on the same place again.
// It looks for the place once: a page that is being left may not tell any more.
func clicks(selector string, between ...step) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		at, err := chromedp.Evaluate[[2]float64](`(() => {
			const r = document.querySelector("`+selector+`").getBoundingClientRect()
			return [r.x + r.width / 2, r.y + r.height / 2]
		})()`)(ctx, target)
		if err != nil {
			return err
		}
		left := []chromedp.MouseOption{chromedp.ButtonType(input.MouseButtonLeft), chromedp.ClickCount(1)}
		press := chromedp.Steps(
			chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], left...),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], left...),
		)
		if len(between) == 0 {
			_, err = press(ctx, target)
			return err
		}
		_, err = chromedp.Steps(press, chromedp.Steps(between...), press)(ctx, target)
		return err
	})
}

// until polls the page for a condition in JavaScript. It survives navigations.
func until(condition string) step {
	met := chromedp.Evaluate[bool]("!!(" + condition + ")")
	return poll(condition, func(ctx context.Context, target *chromedp.Target) bool {
		// A page that is being left may never answer.
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		ok, err := met(ctx, target)
		return err == nil && ok
	})
}

func poll(what string, met func(ctx context.Context, target *chromedp.Target) bool) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for !met(ctx, target) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("waited for %s: %w", what, ctx.Err())
			case <-time.After(10 * time.Millisecond):
			}
		}
		return nil
	})
}

// painted waits until the page can be seen: until then the browser drops clicks.
var painted = until(`document.readyState == "complete" && performance.getEntriesByName("first-contentful-paint").length`)

func visit(url string) step { return chromedp.Steps(chromedp.Navigate(url), painted) }

// reloaded takes steps that leave the page, and then loads it again instead.
func reloaded(steps ...step) step {
	reload := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.Reload, page.ReloadParams{})
		return err
	})
	return chromedp.Steps(script(`window.left = 1`), chromedp.Steps(steps...), reload, until(`!window.left`), painted)
}

// back goes back to the form.
func back() step { return backBy(1) }

// backBy goes back by n pages, to the form.
func backBy(n int) step {
	leave := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		// The command's own answer may be lost with the page.
		_, _ = script(fmt.Sprintf(`history.go(-%d)`, n))(ctx, target)
		return nil
	})
	return chromedp.Steps(leave, until(`document.querySelector("#order")`), painted)
}

// result waits for the page of an order.
var result = chromedp.Steps(until(`location.pathname.match("^/orders/[0-9]+$") && document.querySelector("h1")`), painted)

// front brings a tab before the others: one behind them is not painted.
var front = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, page.BringToFront, cdp.Empty{})
	return err
})

var enter = chromedp.KeyEvent("\r")

// noScripts is a visitor who has switched JavaScript off.
var noScripts = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
})

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

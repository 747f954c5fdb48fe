package shop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

// browserPatience bounds what one call of do waits for. Only a test that fails
// uses it up.
const browserPatience = time.Minute

// browser starts a real browser with an empty profile. Tabs come from chromedp.NewContext.
func browser(t *testing.T, lang string) context.Context {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(dbtest.RequireEnv) == "1" {
			t.Fatalf("required, but missing: %v", err)
		}
		t.Skipf("skipped: %v; Debian's package chromium brings it", err)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("accept-lang", lang), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(browserPatience))
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), flags...)
	t.Cleanup(cancel)
	first, _ := chromedp.NewContext(ctx)
	// The browser ends before its profile is removed.
	t.Cleanup(func() { _ = chromedp.Cancel(first) })
	if err := chromedp.Do(first); err != nil {
		t.Fatal(err)
	}
	return first
}

// tab is one tab of a browser, and the shop that it visits.
type tab struct {
	t    *testing.T
	ctx  context.Context
	shop *Shop
	client
}

// visit opens a shop of its own on SQLite, and its page of tea in a new tab.
func visit(t *testing.T, browser context.Context) tab {
	t.Helper()
	s := openShop(t, dburltest.SQLite(t))
	c := serve(t, s)
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	v := tab{t, ctx, s, c}
	v.do(open(c.base), open(c.base+"/goods/tea")) // the first page sets the cookies
	return v
}

// step is one action in the browser.
type step = chromedp.Action[chromedp.Void]

// do runs steps in the tab and fails the test with the first that cannot.
func (v tab) do(steps ...step) {
	v.t.Helper()
	// The first call of all in a tab must not have a deadline: the tab would end with it.
	if err := chromedp.Do(v.ctx); err != nil {
		v.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(v.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatalf("%v; the page: %s", err, v.text())
	}
}

// text is what the tab shows, for the message of a test that failed.
func (v tab) text() string {
	ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location + " " + document.body.innerText`))
	return fmt.Sprint(text, " ", err)
}

func (v tab) wantOrders(n int) {
	v.t.Helper()
	if got := v.list(); got.Count != n {
		v.t.Errorf("the shop has %v, wanted %d orders", got, n)
	}
}

// script runs JavaScript in the page.
func script(code string) step { return chromedp.Evaluate[chromedp.Void](code) }

// set fills in a field. (The test tool's own ways to find an element hang on a
// page out of the back/forward cache.)
func set(selector, value string) step {
	return script(fmt.Sprintf("document.querySelector(%q).value = %q", selector, value))
}

// centre finds where to click on an element.
func centre(selector string) chromedp.Action[[2]float64] {
	return chromedp.Evaluate[[2]float64](`(() => {
		const button = document.querySelector("` + selector + `")
		button.scrollIntoView({block: "center"})
		const r = button.getBoundingClientRect()
		return [r.x + r.width / 2, r.y + r.height / 2]
	})()`)
}

// press presses and releases the mouse at one place.
func press(at [2]float64, count int) step {
	left := []chromedp.MouseOption{chromedp.ButtonType(input.MouseButtonLeft), chromedp.ClickCount(count)}
	return chromedp.Steps(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], left...),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], left...),
	)
}

// click clicks on an element once.
func click(selector string) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		at, err := centre(selector)(ctx, target)
		if err != nil {
			return err
		}
		_, err = press(at, 1)(ctx, target)
		return err
	})
}

// doubleClick clicks twice on one place: the second time as soon as the shop has
// the first request, for a quicker click would take the first one's place within
// the browser. The shop works long enough for both.
func (v tab) doubleClick(selector string) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		at, err := centre(selector)(ctx, target)
		if err != nil {
			return err
		}
		_, err = chromedp.Steps(v.arrives(press(at, 1)), press(at, 2))(ctx, target)
		return err
	})
}

// arrives takes a step and waits until the shop has got an order because of it.
func (v tab) arrives(send step) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		before := v.shop.tally.now().sent()
		if _, err := send(ctx, target); err != nil {
			return err
		}
		for v.shop.tally.now().sent() == before && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		return ctx.Err()
	})
}

func (t totals) sent() int { return t.Guarded + t.Naive }

// until polls the page for a condition in JavaScript. It survives navigations.
func until(condition string) step {
	met := chromedp.Evaluate[bool]("!!(" + condition + ")")
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for {
			if ok, err := met(ctx, target); err == nil && ok {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waited for %s: %w", condition, ctx.Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// painted waits until the page can be seen: until then the browser drops clicks.
var painted = until(`document.readyState == "complete" && performance.getEntriesByName("first-contentful-paint").length`)

func open(url string) step { return chromedp.Steps(chromedp.Navigate(url), painted) }

// back goes back to the form.
func back() step {
	return chromedp.Steps(script(`history.back()`), until(`location.pathname == "/goods/tea"`), painted)
}

// shown waits until a page with that heading is there.
func shown(path, heading string) step {
	return chromedp.Steps(until(fmt.Sprintf(`location.pathname.match(%q) && document.querySelector("h1")?.textContent.includes(%q)`, path, heading)), painted)
}

// result waits for the page of an order.
func result(heading string) step { return shown(`^/orders/[0-9]+$`, heading) }

// noScripts is a visitor who has switched JavaScript off.
var noScripts = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
})

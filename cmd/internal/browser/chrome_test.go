//go:build wip

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// patience bounds what one call of do waits for. Only a test that fails uses it up.
const patience = 15 * time.Second

// step is one action in the browser.
type step = chromedp.Action[chromedp.Void]

// chrome starts a browser with a profile of its own. preferences may be nil.
func chrome(t *testing.T, preferences map[string]any, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(dbtest.RequireEnv) == "1" {
			t.Fatalf("required, but missing: %v", err)
		}
		t.Skipf("skipped: %v; Debian's package chromium brings it", err)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile(t, preferences)),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("accept-lang", "en"), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("host-resolver-rules", "MAP shop.test 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(flags, more...)...)
	t.Cleanup(cancel)
	first, _ := chromedp.NewContext(ctx)
	// The browser ends before its profile is removed.
	t.Cleanup(func() { _ = chromedp.Cancel(first) })
	if err := chromedp.Do(first); err != nil {
		t.Fatal(err)
	}
	return first
}

func profile(t *testing.T, preferences map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(preferences)
	if err == nil && preferences != nil {
		_ = os.Mkdir(filepath.Join(dir, "Default"), 0o700)
		err = os.WriteFile(filepath.Join(dir, "Default", "Preferences"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tab is one tab of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func newTab(t *testing.T, browser context.Context, o ...chromedp.ContextOption) tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser, o...)
	t.Cleanup(closeTab)
	// The first call of all in a tab must not have a deadline: the tab would end with it.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return tab{t, ctx}
}

// do runs steps in the tab and fails the test with the first that cannot.
func (b tab) do(steps ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v; the page: %s", err, b.text())
	}
}

// text is what the tab shows, for the message of a test that failed.
func (b tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location + " " + document.body.innerText`))
	return fmt.Sprint(text, " ", err)
}

// eval returns what a JavaScript expression is, awaited, as text.
func (b tab) eval(expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => String(`+expression+`))()`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// key is what the hidden field of the page's form says.
func (b tab) key() string {
	b.t.Helper()
	return b.eval(`document.querySelector("#order").elements.idempotency_key.value`)
}

// open opens another tab as a person who duplicates this one does: with a copy of
// its session storage.
func (b tab) open(url string) tab {
	b.t.Helper()
	found := chromedp.WaitNewTarget(b.ctx, func(*target.Info) bool { return true })
	b.do(script(fmt.Sprintf("void window.open(%q)", url)))
	other := newTab(b.t, b.ctx, chromedp.WithTargetID(<-found))
	other.do(painted)
	return other
}

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

// back goes back to the form.
func back() step {
	return chromedp.Steps(script(`history.back()`), until(`document.querySelector("#order")`), painted)
}

// result waits for the page of an order.
var result = chromedp.Steps(until(`location.pathname.match("^/orders/[0-9]+$") && document.querySelector("h1")`), painted)

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

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

// patience bounds what one call of do waits for. Only a test that fails uses it up.
const patience = 4 * time.Minute

// step is one action in the browser.
type step = chromedp.Action[chromedp.Void]

// shared is the browser of most tests: they have tabs and sites of their own.
var shared struct {
	sync.Once
	ctx   context.Context
	close func()
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.close != nil {
		shared.close()
	}
	gatewaytest.Clean()
	os.Exit(code)
}

func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err == nil {
		return path
	}
	if os.Getenv(dbtest.RequireEnv) == "1" {
		t.Fatalf("required, but missing: %v", err)
	}
	t.Skipf("skipped: %v; Debian's package chromium brings it", err)
	return ""
}

// browser returns the shared one.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	shared.Do(func() {
		var dir string
		if dir, shared.err = os.MkdirTemp("", "browser"); shared.err != nil {
			return
		}
		ctx, end, err := launch(path, dir)
		shared.ctx, shared.err = ctx, err
		shared.close = func() { end(); os.RemoveAll(dir) }
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.ctx
}

// ownBrowser starts one with preferences and flags of its own.
func ownBrowser(t *testing.T, preferences map[string]any, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	ctx, end, err := launch(chromium(t), profile(t, preferences), more...)
	// The browser ends before its profile is removed.
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

func launch(path, profile string, more ...chromedp.ExecAllocatorOption) (context.Context, func(), error) {
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("accept-lang", "en"), chromedp.WSURLReadTimeout(time.Minute),
		// A host name that is not localhost: a page there is not in a secure context.
		chromedp.Flag("host-resolver-rules", "MAP shop.test 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(flags, more...)...)
	first, _ := chromedp.NewContext(ctx)
	return first, func() { _ = chromedp.Cancel(first); cancel() }, chromedp.Do(first)
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

// newWindow opens a tab of a window of its own, so that no other tab hides it.
func newWindow(t *testing.T, browser context.Context) tab {
	t.Helper()
	return newTab(t, browser, chromedp.WithNewWindow(true))
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
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => String(await (`+expression+`)))()`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// thrown tells what scripts throw from now on, and nobody catches.
func (b tab) thrown() func() []string {
	b.t.Helper()
	var mu sync.Mutex
	var all []string
	err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, fmt.Sprintf("%s:%d: %s", e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1, e.ExceptionDetails.Text))
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// key is what the hidden field of the page's form says.
func (b tab) key() string {
	b.t.Helper()
	return b.eval(`document.querySelector("#order").elements.idempotency_key.value`)
}

// opened returns the tab with a page of that site which opens while steps are taken.
func (b tab) opened(site string, steps ...step) tab {
	b.t.Helper()
	found := chromedp.WaitNewTarget(b.ctx, func(i *target.Info) bool { return strings.HasPrefix(i.URL, site) })
	b.do(steps...)
	select {
	case id := <-found:
		return newTab(b.t, b.ctx, chromedp.WithTargetID(id))
	case <-time.After(patience):
		b.t.Fatalf("no other tab was opened; the page: %s", b.text())
		return tab{}
	}
}

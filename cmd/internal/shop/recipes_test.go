package shop

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/nebisjs"
)

// vendor has the packages that docs/browser.md has recipes for, unpacked:
//
//	go test ./cmd/internal/shop -run Recipes -vendor FOLDER
var vendor = flag.String("vendor", "", "folder of unpacked packages (axios-1.21.1, …) to run the recipes of docs/browser.md with")

const (
	browserDocs = "../../../docs/browser.md"
	chineseDocs = "../../../docs/browser.zh-CN.md"
	batchDocs   = "../../../docs/batch.md"
)

// example is the code that follows the mark "run: name" in a page of the docs.
func example(t *testing.T, page, name string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- run: "+name+" -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	code, _, ends := strings.Cut(rest, "```")
	if !ok || !ends {
		t.Fatalf("%s has no %s", page, name)
	}
	return code
}

// visitDocs opens a page with some HTML, and the shop behind it.
func visitDocs(t *testing.T, browser context.Context, html string) tab {
	t.Helper()
	s := openShop(t, dburltest.SQLite(t))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- Serve(ctx, ln, docsBeside(s.Handler(), t, html), s.log) }()
	t.Cleanup(func() { stop(); <-closed })
	c := newClient(t, "http://"+ln.Addr().String())
	tabCtx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	v := tab{t, tabCtx, s, c}
	v.do(open(c.base), open(c.base+"/docs/page"))
	return v
}

// docsBeside serves what the docs speak of. The API loses two answers to each key, so
// that a recipe has to try again, and all of them while the page has the cookie "down".
func docsBeside(shop http.Handler, t *testing.T, html string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", shop)
	mux.Handle("GET /vendor/", http.StripPrefix("/vendor/", http.FileServer(http.Dir(*vendor))))
	for _, folder := range []string{"/", "/docs/"} {
		mux.Handle("GET "+folder+"nebis.global.min.js", nebisjs.Global)
		mux.Handle("GET "+folder+"nebis.min.js", nebisjs.Module)
	}
	mux.HandleFunc("GET /docs/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, docsHead+html)
	})
	mux.HandleFunc("GET /worker.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, worker(t))
	})
	mux.HandleFunc("POST /api/orders", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path += "/lost"
		if _, err := r.Cookie("down"); err == nil {
			shop.ServeHTTP(nobody{}, r)
			panic(http.ErrAbortHandler)
		}
		shop.ServeHTTP(w, r)
	})
	return mux
}

// docsHead begins a page. What goes wrong in it is shown, for the message of a test
// that failed.
const docsHead = `<!doctype html><meta charset="utf-8"><title>docs</title><h1>docs</h1><p id="wrong"></p><script>
	addEventListener("error", event => wrong.append(event.message))
	addEventListener("unhandledrejection", event => wrong.append(event.reason))
</script>`

// slow makes the page's form take long enough for a second click.
var slow = script(`document.forms[0].insertAdjacentHTML("beforeend", '<input type="hidden" name="delay_ms" value="1500">')`)

func TestTheExamplesOfTheDocsRun(t *testing.T) {
	b := browser(t, "en")
	for _, page := range []string{browserDocs, chineseDocs} {
		t.Run("the form of "+page, func(t *testing.T) {
			v := visitDocs(t, b, example(t, page, "form"))
			v.do(slow, v.doubleClick("button"), result("Ordered."))
			v.wantOrders(1)
			v.wantSent(1)
		})
		t.Run("the script of "+page, func(t *testing.T) {
			v := visitDocs(t, b, example(t, page, "fetch"))
			v.do(script(`const button = document.querySelector("#order"); button.click(); button.click()`), result("Sent 3 times. Happened once."))
			v.wantOrders(1)
		})
	}
}

// The answers are lost twice, and all is sent again.
func TestOneRequestPerRowIsABatch(t *testing.T) {
	v := visitDocs(t, browser(t, "en"), example(t, batchDocs, "rows"))
	again := until(`document.querySelector("#say").textContent == "3 of 3"`)
	v.do(script(`window.kept = sessionStorage.batch`), click("#import"), again,
		script(`sessionStorage.batch = window.kept; location.reload()`), until(`!window.kept && document.querySelector("#import")`),
		click("#import"), again)
	v.wantOrders(3)
}

// Both languages show the same code, or nearly: what a person reads is translated.
func TestTheExamplesAreTheSameInBothLanguages(t *testing.T) {
	for _, name := range []string{"axios", "ky", "tanstack", "htmx", "turbo", "workbox", "workbox-page"} {
		if en, zh := example(t, browserDocs, name), example(t, chineseDocs, name); withoutComments(en) != withoutComments(zh) {
			t.Errorf("%s: %s%s", name, en, zh)
		}
	}
}

func withoutComments(code string) string {
	var kept []string
	for line := range strings.Lines(code) {
		if code, _, _ := strings.Cut(line, "//"); strings.TrimSpace(code) != "" {
			kept = append(kept, strings.TrimSpace(code))
		}
	}
	return strings.Join(kept, "\n")
}

func TestRecipes(t *testing.T) {
	if *vendor == "" {
		t.Skip("skipped: no -vendor folder")
	}
	b := browser(t, "en")
	for name, send := range map[string]string{
		"axios":    `api.post("/api/orders", {item: "tea", qty: 1}).then(answer => answer.data)`,
		"ky":       `api.post("/api/orders", {json: {item: "tea", qty: 1}}).json()`,
		"tanstack": `new MutationObserver(new QueryClient(), placeOrder).mutate({item: "tea", qty: 1})`,
	} {
		t.Run(name, func(t *testing.T) {
			v := visitDocs(t, b, imports+module(example(t, browserDocs, name), send))
			v.do(until(`window.ordered?.length == 2`))
			v.wantOrders(1)
			v.wantSent(3)
		})
	}
	for name, src := range map[string]string{
		"htmx":  "htmx.org-2.0.11/dist/htmx.js",
		"htmx4": "htmx.org-4.0.1/dist/htmx.js",
		"turbo": "hotwired-turbo-8.0.23/dist/turbo.es2017-umd.js",
	} {
		t.Run(name, func(t *testing.T) {
			v := visitDocs(t, b, `<script src="/vendor/`+src+`"></script><script src="/nebis.global.min.js"></script>`+
				example(t, browserDocs, strings.TrimSuffix(name, "4")))
			v.do(slow, v.doubleClick("button"), until(`document.querySelector("main h1")?.textContent == "Ordered."`))
			v.wantOrders(1)
			v.wantSent(1)
		})
	}
	t.Run("workbox", func(t *testing.T) { workbox(visitDocs(t, b, workboxPage(t))) })
}

// A bundler would have put in what process.env says.
const imports = `<script>self.process = {env: {}}</script><script type="importmap">{"imports": {
	"axios": "/vendor/axios-1.21.1/dist/esm/axios.min.js",
	"ky": "/vendor/ky-1.14.3/distribution/index.js",
	"@tanstack/query-core": "/vendor/tanstack-query-core-5.108.4/build/modern/index.js"
}}</script>`

// module is a script that sends twice at once.
func module(code, send string) string {
	if strings.Contains(send, "QueryClient") {
		code = `import {MutationObserver, QueryClient} from "@tanstack/query-core"` + "\n" + code
	}
	return fmt.Sprintf(`<script type="module">%s
		const send = () => %s
		Promise.all([send(), send()]).then(orders => window.ordered = orders.filter(order => order.id == 1))
	</script>`, code, send)
}

// worker is the recipe's service worker, and a way to have it send what it keeps now.
func worker(t *testing.T) string {
	return `importScripts("/vendor/workbox-core-7.4.1/build/workbox-core.prod.js", "/vendor/workbox-background-sync-7.4.1/build/workbox-background-sync.prod.js")
		addEventListener("install", () => skipWaiting())
		addEventListener("activate", event => event.waitUntil(clients.claim()))
		addEventListener("message", event => queue.replayRequests().then(() => event.source.postMessage("sent"), () => {}))
		` + example(t, browserDocs, "workbox")
}

func workboxPage(t *testing.T) string {
	return `<script src="/nebis.global.min.js"></script><script>
		navigator.serviceWorker.register("/worker.js")
		navigator.serviceWorker.onmessage = ({data}) => window.said = data
		window.order = async () => {` + example(t, browserDocs, "workbox-page") + `window.status = answer.status}
	</script>`
}

func workbox(v tab) {
	v.do(until(`navigator.serviceWorker.controller`), script(`document.cookie = "down=1; path=/"; window.order()`), until(`window.status == 202`),
		script(`document.cookie = "down=; path=/; max-age=0"`), until(`(navigator.serviceWorker.controller.postMessage("now"), window.said == "sent")`))
	v.wantOrders(1)
	if answers := v.shop.tally.answers(1); len(answers) < 2 {
		v.t.Errorf("the worker sent it once: %v", answers)
	}
}

package browser

import (
	"compress/gzip"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/nebisjs"
)

const (
	htmx2 = "htmx-2.0.11.min.js"
	htmx4 = "htmx-4.0.1.min.js"
	turbo = "turbo-8.0.23.js"
)

// library serves what other people wrote.
func library(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open(filepath.Join("testdata", filepath.Base(r.PathValue("name"))+".gz"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	if z, err := gzip.NewReader(f); err == nil {
		_, _ = io.Copy(w, z)
	}
}

const hxForm = `<form id="order" hx-post="/orders" hx-target="{{.Target}}" hx-swap="{{.Swap}}" {{.Guard}}>
<input name="item" value="tea"><button name="go" value="now">Order</button></form>`

var hookPage = template.Must(template.New("hooks").Parse(`<!doctype html>
<title>form</title>
{{.Script}}<script src="/library/{{.Library}}" defer></script>
<h1>Form</h1><div>` + hxForm + `</div><p id="answer"></p>`))

// hook is a page with a library.
type hook struct {
	Library, Target, Swap string
	Guard                 template.HTMLAttr
	Script                template.HTML
}

func (h hook) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.Script = nebisjs.Script("/nebis/")
	_ = hookPage.Execute(w, h)
}

func (h hook) start(t *testing.T) (*site, tab) {
	t.Helper()
	s := newSite(t)
	s.hook = h
	b := newWindow(t, browser(t))
	b.do(visit(s.url+"/hook"), until("window.nebis && (window.htmx || window.Turbo)"))
	return s, b
}

// eachHTMX runs a test with both event spellings.
func eachHTMX(t *testing.T, h hook, test func(t *testing.T, s *site, b tab)) {
	t.Helper()
	for _, name := range []string{htmx2, htmx4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.Library = name
			s, b := h.start(t)
			test(t, s, b)
		})
	}
}

func answers(text string) step {
	return until(`(document.querySelector("#answer") ?? document.body).textContent.includes("` + text + `")`)
}

var (
	besides   = hook{Target: "#answer", Swap: "innerHTML", Guard: "data-nebis"}
	unguarded = hook{Target: "#answer", Swap: "innerHTML"}
	itself    = hook{Target: "this", Swap: "outerHTML", Guard: "data-nebis"}
)

func TestHTMXOrdersOnceAndThenAnew(t *testing.T) {
	t.Parallel()
	eachHTMX(t, besides, func(_ *testing.T, s *site, b tab) {
		s.slow()
		b.do(twice(s.arrived(1)), until(busy), then(s.hurry), answers("Order 1"), until(idle))
		s.want(1)
		s.wantSent(1, 1)
		b.do(order, answers("Order 2"))
		s.want(2)
		s.wantSent(2, 2)
	})
}

func TestHTMXUnguardedOrdersTwice(t *testing.T) {
	t.Parallel()
	eachHTMX(t, unguarded, func(_ *testing.T, s *site, b tab) {
		s.slow()
		b.do(twice(s.arrived(1)), then(s.hurry), answers("Order 2"))
		s.want(2)
	})
}

func TestHTMXKeepsTheKeyWhileTheOutcomeIsOpen(t *testing.T) {
	t.Parallel()
	eachHTMX(t, besides, func(_ *testing.T, s *site, b tab) {
		s.next(reply(503), open)
		b.do(order, s.arrived(1), until(idle), order, s.arrived(2), until(idle))
		s.meet(loseRequest)
		b.do(order, s.arrived(3), until(idle))
		s.meet(nil)
		b.do(order, answers("Order 1"))
		s.want(1)
		s.wantSent(len(s.arrivals()), 1)
	})
}

func TestHTMXRejectedGoesThroughWhenCorrected(t *testing.T) {
	t.Parallel()
	eachHTMX(t, besides, func(_ *testing.T, s *site, b tab) {
		b.do(set("#order [name=item]", "none"), order, s.arrived(1), until(idle))
		b.do(set("#order [name=item]", "tea"), order, answers("Order 1"))
		s.want(1)
	})
}

// A form that is replaced by its answer, on a page that was reloaded.
func TestHTMXAFormThatIsReplacedHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	eachHTMX(t, itself, func(_ *testing.T, s *site, b tab) {
		again := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Idempotency-Status", "created")
			_ = template.Must(template.New("form").Parse(hxForm)).Execute(w, s.hook)
		}
		s.next(again, again)
		b.do(chromedp.Reload(), painted, until("window.htmx"), script(`replaced = 0
			for (let name of ["htmx:afterSettle", "htmx:finally:request"]) addEventListener(name, () => replaced++)`))
		b.do(order, until(`replaced == 1`), order, until(`replaced == 2`))
		s.want(2)
		s.wantSent(2, 2)
	})
}

func TestTurbo(t *testing.T) {
	t.Parallel()
	h := hook{Library: turbo, Guard: `data-nebis method="post" action="/orders"`}
	submit := script(`order.requestSubmit()`)
	t.Run("orders once", func(t *testing.T) {
		s, b := h.start(t)
		s.slow()
		b.do(submit, s.arrived(1), submit, until(busy), then(s.hurry), result)
		s.want(1)
		s.wantSent(1, 1)
	})
	t.Run("unguarded orders twice", func(t *testing.T) {
		h := h
		h.Guard = `method="post" action="/orders"`
		s, b := h.start(t)
		s.slow()
		b.do(submit, s.arrived(1), submit, s.arrived(2), then(s.hurry), result)
		s.want(2)
	})
	t.Run("a click before the result is shown is no new order", func(t *testing.T) {
		s, b := h.start(t)
		b.do(script(`addEventListener("turbo:submit-end", () => order.requestSubmit(document.querySelector("#order button")), {once: true})`), order, s.arrived(2), result)
		s.want(1)
		s.wantSent(2, 1)
	})
	// Turbo does not keep a page that has sent a POST: it asks for it again.
	t.Run("after Back it is a new form", func(t *testing.T) {
		s, b := h.start(t)
		b.do(order, result, back(), order, until(`location.pathname == "/orders/2"`))
		s.want(2)
		s.wantSent(2, 2)
	})
	t.Run("a rejected form goes through when corrected", func(t *testing.T) {
		s, b := h.start(t)
		b.do(script(`order.insertAdjacentHTML("beforeend", '<input type="hidden" name="look" value="guarded">')`),
			set("#order [name=item]", "none"), order, says("What do you want"),
			set("#order [name=item]", "tea"), order, result)
		s.want(1)
	})
}

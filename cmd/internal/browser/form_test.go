package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nebis-dev/nebis/nebisjs"
)

func moduleURL(s *site) string { return s.url + "/nebis/" + nebisjs.Module.Name }

// load imports a module into the page.
func load(url string) step {
	return chromedp.Steps(script(fmt.Sprintf(`window.loaded = 0; void import(%q).then(() => loaded = 1)`, url)), until("loaded"))
}

func TestFormAndButtonMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"the button's value arrives":          {[]step{order}, "now"},
		"a button outside of the form counts": {[]step{click("#outside")}, "outside"},
		"requestSubmit with a button":         {[]step{script(`order.requestSubmit(outside)`)}, "outside"},
		"form.submit has the key, too":        {[]step{script(`order.submit()`)}, ""},
		"formaction counts":                   {[]step{script(`order.action = "/elsewhere"; outside.formAction = "/orders"`), click("#outside")}, "outside"},
		"a file may be sent along":            {[]step{script(`order.enctype = "multipart/form-data"`), order}, "now"},
		"a hidden id and action do not matter": {[]step{
			script(`order.insertAdjacentHTML("beforeend", '<input type="hidden" name="id"><input type="hidden" name="action"><input type="hidden" name="method">')`), order}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := start(t, browser(t), ownForm)
			b.do(append(c.steps, result)...)
			s.want(1)
			var got string
			if err := s.db.QueryRowContext(t.Context(), `SELECT go FROM orders`).Scan(&got); err != nil || got != c.want {
				t.Errorf("the button's value is %q, want %q (%v)", got, c.want, err)
			}
			if key := s.arrivals()[0].key; len(key) != 36 {
				t.Errorf("the key is %q", key)
			}
		})
	}
}

func TestAFormThatComesLaterOrIsGuardedByAScript(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string]string{
		"later":       `document.body.innerHTML = document.body.innerHTML.replace("<form", "<form data-nebis")`,
		"by a script": `nebis.guard(order)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			b := newWindow(t, browser(t))
			b.do(visit(s.url + "/form?look=" + bare))
			s.slow()
			b.do(script(guard), twice(s.arrived(1)), then(s.hurry), result)
			s.want(1)
			s.wantSent(1, 1)
			if key := s.arrivals()[0].key; len(key) != 36 {
				t.Errorf("the key is %q", key)
			}
		})
	}
}

func TestFormsThatAreNotOursAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"GET":          `order.method = "get"`,
		"dialog":       `order.method = "dialog"`,
		"another host": `order.action = "http://localhost:1/orders"`,
		"another host, and a field of that name": `order.action = "http://localhost:1/orders";
			order.insertAdjacentHTML("beforeend", '<input type="hidden" name="action" disabled>')`,
		"a button with GET":     `document.querySelector("#order button").formMethod = "get"`,
		"a button to elsewhere": `document.querySelector("#order button").formAction = "http://localhost:1/orders"`,
		"no data-nebis":         `delete order.dataset.nebis`,
		"data-nebis says off":   `order.dataset.nebis = "Off"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			b := newWindow(t, browser(t))
			b.do(visit(s.url + "/form?look=" + naive))
			// The client comes last, as it would behind a page's own scripts.
			b.do(script(`order.dataset.nebis = ""; `+change), load(moduleURL(s)))
			got := b.eval(`(() => {
				let sent = 0, data
				addEventListener("submit", event => { sent++; data = [...new FormData(event.target)].map(([n]) => n); event.preventDefault() })
				const button = document.querySelector("#order button")
				order.requestSubmit(button)
				order.requestSubmit(button)
				return sent + " " + data + " " + order.ariaBusy
			})()`)
			if got != "2 look,item null" {
				t.Errorf("sent, fields, busy: %s", got)
			}
		})
	}
}

// Case 44.
func TestARejectedFormGoesThroughWhenCorrected(t *testing.T) {
	t.Parallel()
	each(t, protected, func(t *testing.T, w way, s *site, b tab) {
		b.do(fill(w, "none"), order)
		if w == fetch {
			b.do(until(`say.textContent == "released"`))
		} else {
			b.do(says("What do you want"))
		}
		b.do(fill(w, "tea"), order, result)
		s.want(1)
	})
}

// Case 44: the answer to a rejected form need not be a form; Back is.
func TestARejectedFormGoesThroughAfterBack(t *testing.T) {
	t.Parallel()
	each(t, forms, func(t *testing.T, w way, s *site, b tab) {
		s.next(reply(422))
		b.do(order, says("422"), back(), fill(w, "coffee"), order, result)
		s.want(1)
	})
}

package browser

import (
	"html/template"
	"net/http"

	"github.com/nebis-dev/nebis/nebishttp"
	"github.com/nebis-dev/nebis/nebisjs"
)

func (s *site) form(w http.ResponseWriter, r *http.Request) {
	s.page(w, r, "", r.URL.Query().Get("look"))
}

var formPage = template.Must(template.New("page").Parse(`<!doctype html>
<title>form</title>
{{.Script}}
<h1>Form {{.Say}}</h1>
<form id="order" method="post" action="/orders" {{if .Guard}}data-nebis{{end}}>
{{.Field}}<input type="hidden" name="look" value="{{.Look}}">
<input name="item" value="tea" autofocus>
<button name="go" value="now">Order</button>
</form>
<button id="outside" form="order" name="go" value="outside">Order</button>
<p id="say"></p>
<script>addEventListener("pageshow", event => window.persisted = event.persisted)</script>
{{if .App}}<script type="module">
	import * as nebis from "{{.Module}}"
	const form = document.querySelector("#order"), query = new URLSearchParams(location.search)
	window.nebis = nebis
	form.onsubmit = async event => {
		event.preventDefault()
		try {
			const answer = await nebis.action("order").fetch((query.get("api") ?? "") + "/orders", {
				body: JSON.stringify({item: form.item.value}),
				headers: {"Content-Type": "application/json"},
				timeout: query.get("timeout") ?? undefined,
				onretry: ({response}) => { window.retried = response?.status ?? "no answer"; try { sessionStorage.note = "retried" } catch {} },
			})
			window.said = nebis.outcome(answer)
			if (answer.ok) location = "/orders/" + (await answer.json()).id
			else document.querySelector("#say").textContent = said
		} catch (error) {
			document.querySelector("#say").textContent = error.name
		}
	}
</script>{{end}}`))

// The looks of a form.
const (
	plain   = "plain"   // the server's field, no script
	guarded = "guarded" // the server's field, and the client
	own     = "own"     // no field but the client's
	naive   = "naive"   // no protection
	app     = "app"     // no form post, but action().fetch
	bare    = "bare"    // no protection, and the client
	basket  = "basket"  // a key that stands for a basket, and the client
)

func (s *site) page(w http.ResponseWriter, r *http.Request, say, look string) {
	data := struct {
		Say, Look, Module string
		Guard, App        bool
		Script, Field     template.HTML
	}{Say: say, Look: look, App: look == app, Module: "/nebis/" + nebisjs.Module.Name}
	switch look {
	case guarded, own, basket:
		data.Guard = true
		fallthrough
	case bare:
		data.Script = nebisjs.Script("/nebis/")
	}
	switch look {
	case plain, guarded:
		data.Field = nebishttp.Field(w, r)
	case basket:
		data.Field = nebishttp.FieldKey(w, r, "basket-7-version-1")
	}
	if err := formPage.Execute(w, data); err != nil {
		s.t.Error(err)
	}
}

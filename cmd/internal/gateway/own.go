package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/nebis-dev/nebis/nebisjs"
)

// ownPrefix is what the gateway answers itself; nothing below it reaches the site.
const ownPrefix = "/.nebis/"

const clientScript = ownPrefix + "client.js"

// scriptVersion is in the script's address, so that browsers may keep the script
// until there is another.
var scriptVersion = strings.Split(nebisjs.Global.Name, ".")[3]

func (g *Gateway) ownPages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ownPrefix+"livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET "+ownPrefix+"readyz", g.readyz)
	mux.HandleFunc("GET "+clientScript, serveScript)
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	if g.stopping.Err() != nil {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	if g.o.Ready != nil {
		if err := g.o.Ready(r.Context()); err != nil {
			g.o.Log.WarnContext(r.Context(), "not ready", "error", err)
			say(w, http.StatusServiceUnavailable, "not ready")
			return
		}
	}
	say(w, http.StatusOK, "ready")
}

func serveScript(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") == scriptVersion {
		nebisjs.Global.ServeHTTP(w, r)
		return
	}
	nebisjs.Global.ServeHTTP(&unkept{w}, r)
}

// unkept is an answer that is asked for again each time: a script whose address
// does not change with it.
type unkept struct{ http.ResponseWriter }

func (u *unkept) WriteHeader(status int) {
	u.Header().Set("Cache-Control", "no-cache")
	u.ResponseWriter.WriteHeader(status)
}

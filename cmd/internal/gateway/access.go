package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// statusGone is in the log, as nginx has it, where the visitor went away before
// the answer.
const statusGone = 499

// access counts what is answered, for the log.
type access struct {
	http.ResponseWriter
	g      *Gateway
	c      *call
	began  time.Time
	status int
	bytes  int64
}

func (g *Gateway) logged(w http.ResponseWriter, r *http.Request, c *call) *access {
	return &access{ResponseWriter: w, g: g, c: c, began: time.Now()}
}

func (a *access) WriteHeader(status int) {
	if a.status < 200 && a.status != http.StatusSwitchingProtocols {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *access) Write(p []byte) (int, error) {
	if a.status < 200 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets streams be flushed, and connections be taken over.
func (a *access) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// A Request is one that has ended.
type Request struct {
	Scope  string // of its route; empty: it is not protected
	Status int
	Took   time.Duration
	Forms  int  // that got a key
	Left   bool // a page whose forms were to get a key, and could not
	Failed bool // the site did not answer
}

func (a *access) tell() {
	if a.g.o.Done == nil || strings.HasPrefix(a.c.in.URL.Path, ownPrefix) {
		return
	}
	r := Request{Status: a.ended(), Took: time.Since(a.began), Forms: a.c.forms, Left: a.c.left != "", Failed: a.c.err != nil}
	if a.c.route != nil {
		r.Scope = a.c.route.Scope
	}
	a.g.o.Done(r)
}

// done writes the line. It has the path and no query: sites put keys, mail
// addresses and worse there.
func (a *access) done() {
	a.tell()
	r := a.c.in
	attrs := []slog.Attr{
		slog.String("client", a.g.client(r)), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", a.ended()), slog.Int64("bytes", a.bytes),
		slog.Duration("took", time.Since(a.began).Round(time.Microsecond)),
	}
	if a.c.route != nil {
		attrs = append(attrs, slog.String("route", a.c.route.Match.String()))
	}
	if outcome := a.outcome(); outcome != "" {
		attrs = append(attrs, slog.String("outcome", outcome))
	}
	if a.c.forms > 0 {
		attrs = append(attrs, slog.Int("forms", a.c.forms))
	}
	if a.c.left != "" {
		attrs = append(attrs, slog.String("left", a.c.left))
	}
	if a.c.err != nil {
		attrs = append(attrs, slog.String("error", a.c.err.Error()))
	}
	a.g.o.Log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "request", attrs...)
}

// outcome says what became of a protected write.
func (a *access) outcome() string {
	switch {
	case a.c.no:
		return "not-permitted"
	case a.c.route == nil:
		return ""
	}
	return a.Header().Get("Idempotency-Status")
}

func (a *access) ended() int {
	switch {
	case a.c.in.Context().Err() != nil && (a.status == 0 || a.status == http.StatusBadGateway):
		return statusGone
	case a.status == 0:
		return http.StatusOK
	}
	return a.status
}

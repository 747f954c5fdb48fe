package scan_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/scan"
)

// request is one line of a log to be.
type request struct {
	at                 time.Time
	addr, user         string
	method, path       string
	status, length     int
	agent, cookie      string
	seconds            float64
	referer, forwarded string
	host               string
}

const (
	chrome = "Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0"
	safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Safari/604.1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// post is a POST of one visitor, so many seconds after noon.
func post(after float64, changes ...func(*request)) request {
	r := request{
		at: noon.Add(time.Duration(after * float64(time.Second))), addr: "203.0.113.7", method: "POST", path: "/orders",
		status: 302, host: "shop.example", length: 512, agent: chrome, seconds: 0.1,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func to(path string) func(*request)     { return func(r *request) { r.path = path } }
func by(method string) func(*request)   { return func(r *request) { r.method = method } }
func from(addr string) func(*request)   { return func(r *request) { r.addr = addr } }
func user(name string) func(*request)   { return func(r *request) { r.user = name } }
func status(code int) func(*request)    { return func(r *request) { r.status = code } }
func with(agent string) func(*request)  { return func(r *request) { r.agent = agent } }
func bytes(n int) func(*request)        { return func(r *request) { r.length = n } }
func cookie(v string) func(*request)    { return func(r *request) { r.cookie = v } }
func took(s float64) func(*request)     { return func(r *request) { r.seconds = s } }
func at(host string) func(*request)     { return func(r *request) { r.host = host } }
func behind(addr string) func(*request) { return func(r *request) { r.forwarded = addr } }

// style is a way to write logs.
type style struct {
	name   string
	format string // for --format
	line   func(request) string
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func common(r request) string {
	return fmt.Sprintf(`%s - %s [%s] "%s %s HTTP/1.1" %d 17`, r.addr, dash(r.user), r.at.Format("02/Jan/2006:15:04:05 -0700"), r.method, r.path, r.status)
}

func combined(r request) string {
	return common(r) + fmt.Sprintf(` "%s" "%s"`, dash(r.referer), r.agent)
}

// custom is a log_format as sites write it.
const custom = `log_format shop '$remote_addr $remote_user [$time_iso8601] $host "$request" '
	'$status $request_length $request_time "$http_user_agent" "$cookie_session" "$http_x_forwarded_for"';`

func customLine(r request) string {
	return fmt.Sprintf(`%s %s [%s] shop.example "%s %s HTTP/2.0" %d %d %.3f "%s" "%s" "%s"`, r.addr, dash(r.user), r.at.Format("2006-01-02T15:04:05-07:00"),
		r.method, r.path, r.status, r.length, r.seconds, r.agent, dash(r.cookie), dash(r.forwarded))
}

func jsonLine(r request) string {
	b, err := json.Marshal(map[string]any{
		"remote_addr": r.addr, "remote_user": r.user, "time_iso8601": r.at.Format(time.RFC3339), "request_method": r.method, "request_uri": r.path,
		"status": r.status, "request_length": r.length, "request_time": r.seconds, "http_user_agent": r.agent, "http_cookie": r.cookie,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

var styles = []style{
	{"common", "", common},
	{"combined", "", combined},
	{"log_format", custom, customLine},
	{"json", "", jsonLine},
}

// text writes requests as a log.
func (s style) text(requests ...request) string {
	var b strings.Builder
	for _, r := range requests {
		b.WriteString(s.line(r) + "\n")
	}
	return b.String()
}

// file puts a log into a folder of the test's.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run scans a log from standard input.
func run(t testing.TB, text string, opts *scan.Options) *scan.Result {
	t.Helper()
	if opts == nil {
		opts = &scan.Options{}
	}
	opts.Stdin = strings.NewReader(text)
	r, err := scan.Run(t.Context(), []string{scan.Stdin}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func route(t testing.TB, r *scan.Result, name string) *scan.Route {
	t.Helper()
	for _, one := range r.Routes {
		if one.Method+" "+one.Path == name {
			return one
		}
	}
	t.Fatalf("there is no route %s", name)
	return nil
}

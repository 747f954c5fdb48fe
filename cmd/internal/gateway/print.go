package gateway

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Print writes the configuration as a file that can be read back. A database's
// password is in it, as it is in the file.
func (c *Config) Print(w io.Writer) error {
	p := &printer{w: w}
	p.field("", "addr", c.Addr)
	p.field("", "upstream", c.Upstream)
	p.field("", "db", c.DB)
	p.list("", "trusted_proxies", texts(c.TrustedProxies))
	p.field("", "owner", c.Owner.String())
	p.field("", "clean", formatClean(c.Clean))
	p.field("", "metrics", c.Metrics)
	p.line("metrics_public: " + strconv.FormatBool(c.MetricsPublic))
	p.list("", "forms", texts(c.Forms))
	if len(c.Routes) == 0 {
		p.line("routes: []")
		return p.err
	}
	p.line("routes:")
	for i := range c.Routes {
		p.route(&c.Routes[i])
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) route(r *Route) {
	const in = "    "
	p.field("  - ", "match", r.Match.String())
	p.field(in, "scope", r.Scope)
	p.list(in, "key", texts(r.Key))
	p.field(in, "kind", string(r.Kind))
	p.line(in + "required: " + strconv.FormatBool(r.Required))
	p.line(in + "success:")
	p.field(in+"  ", "status", formatStatus(r.Success.Status))
	p.field(in+"  ", "body", r.Success.Body.text)
	p.field(in+"  ", "json", r.Success.JSON.String())
	p.field(in+"  ", "not_location", r.Success.NotLocation.text)
	p.field(in, "on_upstream_error", r.OnUpstreamError)
	p.field(in, "permit", formatPermit(r.Permit))
	p.field(in, "verify", r.Verify)
	p.field(in, "look", r.Look)
	p.field(in, "on_store_error", r.OnStoreError)
	p.field(in, "keep", formatDuration(r.Keep))
	p.field(in, "keep_seen", formatDuration(r.KeepSeen))
	p.field(in, "wait", r.formatWait())
	p.field(in, "deadline", formatDuration(r.Deadline))
	p.field(in, "max_body", formatSize(r.MaxBody))
}

// formatWait leaves a wait that depends on the request as it is.
func (r *Route) formatWait() string {
	if r.Wait < 0 && r.Kind == ByRequest {
		return ""
	}
	return formatDuration(max(r.WaitFor(r.Kind), time.Duration(0)))
}

func formatPermit(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

func (j *jsonRule) String() string {
	if j == nil {
		return ""
	}
	return j.text
}

func (p *printer) line(s string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, s)
	}
}

func (p *printer) field(indent, name, value string) {
	p.line(indent + name + ": " + quoteYAML(value))
}

func (p *printer) list(indent, name string, values []string) {
	for i, v := range values {
		values[i] = quoteYAML(v)
	}
	p.line(indent + name + ": [" + strings.Join(values, ", ") + "]")
}

func texts[T fmt.Stringer](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = v.String()
	}
	return out
}

// plain is text that means itself in YAML, inside of a list too.
var plain = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+=-]*(:[A-Za-z0-9/._+=-]+)*( /[A-Za-z0-9/._+=-]*)?$`)

// quoteYAML writes a value so that YAML reads the same text: the escapes of a Go
// string are among those of YAML.
func quoteYAML(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return strconv.Quote(s)
	}
	if plain.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

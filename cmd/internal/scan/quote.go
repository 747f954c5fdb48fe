package scan

import (
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// protect is a route as an argument for a shell: the path was chosen by whoever
// sent the request. A path that cannot be shown as it is, one that was cut or
// has control characters, is no argument: it would name another route.
func (r *Route) protect() (line string, exact bool) {
	name := r.Method + " " + r.Path
	exact = report.CleanLong(name) == name && !strings.Contains(name, "…")
	return "--protect " + report.ShellQuote(name), exact
}

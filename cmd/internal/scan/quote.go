package scan

import (
	"strings"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// quote makes one argument of a shell: the path was chosen by whoever sent the
// request.
func quote(s string) string {
	return "'" + strings.ReplaceAll(report.Clean(s), "'", `'\''`) + "'"
}

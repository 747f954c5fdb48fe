package otelnebis

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// The tables of docs/metrics.md have every instrument, with its unit, beside
// Prometheus' name of it, and no other.
func TestTheDocsNameEveryInstrument(t *testing.T) {
	g := newGround(t, dbtest.Lookup("sqlite-modernc"))
	must(t, g.n.Watch(g.db, g.store, nil))
	g.tell(g.n)
	var all metricdata.ResourceMetrics
	must(t, g.reader.Collect(t.Context(), &all))
	families, err := g.translated.Gather()
	must(t, err)
	var want []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		unit := ""
		if m.Unit != "" {
			unit = fmt.Sprintf(" (%s)", m.Unit)
		}
		for _, f := range families { // the name there, whatever is put behind it
			if translated := strings.ReplaceAll(m.Name, ".", "_"); strings.TrimSuffix(strings.TrimSuffix(f.GetName(), "_total"), "_seconds") == translated {
				want = append(want, f.GetName()+" is "+m.Name+unit)
			}
		}
	}
	if len(want) != len(families) {
		t.Errorf("of %d there are %d in %v", len(families), len(want), want)
	}
	for _, name := range []string{"hidden", "transactions"} { // SQLite does not tell these
		want = append(want, "nebis_stuck_"+name+" is nebis.stuck."+name+" ({transaction})")
	}
	slices.Sort(want)
	for _, name := range []string{"metrics.md", "metrics.zh-CN.md"} {
		text, err := os.ReadFile("../../../docs/" + name)
		must(t, err)
		var got []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(nebis_\\w+)` \\| [a-z, ]* \\| `(nebis[.\\w]+)`( \\([^)]*\\))? \\|").FindAllStringSubmatch(string(text), -1) {
			got = append(got, row[1]+" is "+row[2]+row[3])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("docs/%s has\n%s\nand there are\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

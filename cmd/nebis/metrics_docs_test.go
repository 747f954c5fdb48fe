package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/gateway"
	"github.com/nebis-dev/nebis/cmd/metrics"
)

// The tables of docs/metrics.md have every number that there is, with its labels, and
// no other.
func TestTheDocsNameEveryMetric(t *testing.T) {
	k := newKeyed(t, "sqlite:"+t.TempDir()+"/keys.db", "")
	n, _, err := gatewayInstruments(gateway.Default())
	if err == nil {
		err = n.Watch(k.db, k.store, &metrics.WatchOptions{Every: time.Nanosecond})
	}
	if err != nil {
		t.Fatal(err)
	}
	n.Observe(t.Context(), nebis.Event{Scope: "order", Outcome: nebis.Ran, Ran: time.Second})
	families, err := n.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "nebis_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		want = append(want, f.GetName()+" "+strings.Join(labels, " "))
	}
	for _, name := range []string{"metrics.md", "metrics.zh-CN.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(nebis_\\w+)` \\| ([a-z, ]*) \\|").FindAllStringSubmatch(string(text), -1) {
			labels := strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
			slices.Sort(labels)
			got = append(got, row[1]+" "+strings.Join(labels, " "))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("docs/%s has\n%s\nand there are\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

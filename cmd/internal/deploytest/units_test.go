//go:build linux

package deploytest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The units as systemd reads them. That they run is not shown here: that takes a
// systemd which is the first process.
func TestTheUnits(t *testing.T) {
	t.Parallel()
	program := need(t, "systemd-analyze")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := newGround(t)
	for _, units := range [][]string{
		{"nebis-gateway.service", "nebis-gateway.socket"},
		{"nebis-clean.service", "nebis-clean.timer"},
		{"nebis-check.service", "nebis-check.timer"},
	} {
		service := g.write(units[0], g.recipe("systemd/"+units[0], "/usr/local/bin/nebis", self))
		other := g.write(units[1], g.recipe("systemd/"+units[1]))
		for _, args := range [][]string{
			{"verify", "--man=no", service, other},
			{"security", "--offline=true", "--threshold=15", "--no-pager", service}, // of 100
		} {
			if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil || args[0] == "verify" && len(out) > 0 {
				t.Errorf("%s %s: %v\n%s", args[0], units[0], err, out)
			}
		}
	}
}

// What one unit is forbidden, the others are as well.
func TestTheUnitsAreHardenedAlike(t *testing.T) {
	t.Parallel()
	g := &ground{t, ""}
	hardening := func(name string) []string {
		_, rest, found := strings.Cut(g.recipe("systemd/"+name), "CapabilityBoundingSet=\n")
		if !found {
			t.Fatalf("%s drops no capability", name)
		}
		rest, _, _ = strings.Cut(rest, "[Install]")
		return strings.Fields(rest)
	}
	want := hardening("nebis-gateway.service")
	for _, name := range []string{"nebis-clean.service", "nebis-check.service"} {
		if got := hardening(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v\nthe gateway's: %v", name, got, want)
		}
	}
}

//go:build linux

package deploytest

import (
	"os"
	"os/exec"
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
	service := g.write("nebis-gateway.service", g.recipe("systemd/nebis-gateway.service", "/usr/local/bin/nebis", self))
	socket := g.write("nebis-gateway.socket", g.recipe("systemd/nebis-gateway.socket"))
	for _, args := range [][]string{
		{"verify", "--man=no", service, socket},
		{"security", "--offline=true", "--threshold=15", "--no-pager", service}, // of 100
	} {
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}

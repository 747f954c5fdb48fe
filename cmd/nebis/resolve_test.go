package main

import (
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

func TestDecisionsAndTheVersionAsJSON(t *testing.T) {
	k := newKeyed(t, dburltest.SQLite(t), "")
	k.lease("ann", "k<1>", errors.New("why"))
	for _, c := range []struct {
		args []string
		want decided
	}{
		{[]string{"resolve", "--done"}, decided{"idempotency", "order", "ann", "k<1>", "resolve", nebis.StateUnknown, nebis.StateDone}},
		{[]string{"release"}, decided{"idempotency", "order", "ann", "k<1>", "release", nebis.StateDone, nebis.StateFree}},
	} {
		code, stdout, stderr := k.call(append(c.args, "--scope", "order", "--owner", "ann", "k<1>", "--reason", "r", "--json")...)
		var got decided
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || stderr != "" || got != c.want {
			t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
		}
	}
	if code, stdout, stderr := k.call("release", "--scope", "order", "--owner", "ann", "k<1>", "--reason", "r", "--json"); code != 1 || stdout != "" || stderr == "" {
		t.Errorf("what is free: exit %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr := k.call("version", "--json")
	var v about
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || stderr != "" || v.Version == "" || v.Go != runtime.Version() || v.OS != runtime.GOOS || v.Arch != runtime.GOARCH {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}

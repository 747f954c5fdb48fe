package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// To every command a key that is remembered longer than its answer is done, before
// the clean-up has taken the answer out and after.
func TestAKeyThatIsRememberedLongerThanItsAnswer(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.lease(nebis.Anyone, "old", nil)
		k.lease(nebis.Anyone, "seen", nil)
		k.shift(48, "created_at", "expires_at")
		k.exec("UPDATE idempotency SET lease_until = '2101-01-01 00:00:00' WHERE idem_key = 'seen'")
		k.wantSeen()
		if got := k.listed("--status", "expired"); got != "old" {
			t.Errorf("expired: %s", got)
		}
		k.want(0, ": 1 row and the answers of 1 more would be removed", "clean", "--dry-run")
		code, stdout, stderr := k.call("clean", "--json")
		var c cleaned
		if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != 0 || c.Rows != 1 || c.Answers != 1 {
			t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
		}
		k.wantSeen()
		if got := k.listed("--scope", "order"); got != "seen" {
			t.Errorf("left: %s", got)
		}
		k.want(0, ": 0 rows removed in ", "clean")
		_, own, _ := k.call("list", "--scope", "nebis.sweep")
		if !strings.Contains(own, "sweep") || strings.Contains(own, "remembered") {
			t.Errorf("a key that does not expire is kept: %s", own)
		}
		if n := k.stats(); n.Rows != 1 || len(n.Groups) != 1 {
			t.Errorf("the clean-up's own row is counted as a key: %d, %v", n.Rows, n.Groups)
		}
	})
}

// Of a key whose outcome is unknown the row does not say for how long it was to be
// remembered: who resolves it says so, or it would run again when its answer is gone.
func TestWhoResolvesAKeySaysForHowLongItIsRemembered(t *testing.T) {
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		resolve := func(code int, says string, more ...string) {
			k.want(code, says, append([]string{"resolve", "--scope", "order", "k", "--reason", "r", "--keep-seen"}, more...)...)
		}
		k.lease(nebis.Anyone, "k", errors.New("no answer"))
		resolve(2, "--keep-seen is for", "2160h", "--free")
		resolve(2, "--keep-seen is for", "-1h", "--done")
		resolve(0, "unknown → done", "2160h", "--done")
		k.shift(48, "created_at", "expires_at")
		if v := k.show(nebis.Anyone, "k"); v.State != nebis.StateDone || time.Until(v.SeenUntil) < 80*24*time.Hour {
			t.Errorf("%+v", v)
		}
	})
}

func (k *keyed) wantSeen() {
	k.t.Helper()
	if got := k.listed("--status", "done", "--scope", "order"); got != "seen" {
		k.t.Errorf("done: %s", got)
	}
	if got := fmt.Sprint(k.stats().Groups); !strings.Contains(got, fmt.Sprint(keytable.Group{Scope: "order", State: "done", Rows: 1})) {
		k.t.Errorf("stats: %s", got)
	}
	v := k.show(nebis.Anyone, "seen")
	if v.State != nebis.StateDone || v.Answer != nil || !v.LeaseUntil.IsZero() || !v.SeenUntil.After(time.Now().AddDate(1, 0, 0)) {
		k.t.Errorf("show: %+v", v)
	}
	k.want(0, "remembered until", "show", "--scope", "order", "seen")
	k.want(0, "done: a duplicate is told that it is done, and that no answer is kept", "show", "--scope", "order", "seen")
	k.want(0, "no answer is kept, the key is remembered until 2101-01-01 00:00:00", "list", "--scope", "order")
	_, shown, _ := k.call("show", "--scope", "order", "seen")
	_, listed, _ := k.call("list", "--status", "done", "--scope", "order")
	_, row, _ := strings.Cut(listed, "WHY\n")
	row, _, _ = strings.Cut(row, "\n")
	if strings.Contains(shown, "kept until") || strings.Count(row, ":") != 4 { // of two times: claimed, remembered
		k.t.Errorf("there is no answer to keep:\n%s%s", shown, listed)
	}
}

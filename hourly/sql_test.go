package hourly

import (
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

func TestTheTableIsNamedAfterTheKeyTable(t *testing.T) {
	for table, want := range map[string]string{"": "`idempotency_hourly`", "keys": "`keys_hourly`", "shop.keys": "`shop`.`keys_hourly`"} {
		schema, err := Schema(nebis.MySQL, table)
		if err != nil || !strings.Contains(schema, "EXISTS "+want+" (") {
			t.Errorf("%q: %v %s", table, err, schema)
		}
	}
	for _, table := range []string{"a b", "a.b.c", "`"} {
		if _, err := Schema(nebis.Postgres, table); err == nil {
			t.Errorf("%q is taken", table)
		}
	}
	if _, err := Schema(nebis.Dialect(9), ""); err == nil {
		t.Error("an unknown dialect is taken")
	}
}

// A scope that is none goes where it cannot fill the memory.
func TestMalformedScopesAreCountedTogether(t *testing.T) {
	c := &Counter{counts: map[kind]int64{}}
	for _, scope := range []string{"", "a b", strings.Repeat("x", 65), "é"} {
		c.Observe(t.Context(), nebis.Event{Scope: scope, Outcome: nebis.Failed})
	}
	for i := range 2 * most {
		c.Observe(t.Context(), nebis.Event{Scope: strings.Repeat("x", 1+i%60) + string(rune('!'+i/60%90)) + string(rune('!'+i/5400)), Outcome: nebis.Ran})
	}
	if n := c.counts[kind{Other, nebis.Failed}]; n != 4 || len(c.counts) > most+2 || c.counts[kind{Other, nebis.Ran}] == 0 {
		t.Errorf("%d malformed, %d kinds", n, len(c.counts))
	}
}

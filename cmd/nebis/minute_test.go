package main

import (
	"flag"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
)

var minute = flag.Bool("minute", false, "with the test that holds a transaction for 61 s on each database")

// The same as with a shorter --stuck-after, with the one that people have.
func TestATransactionOf61SecondsIsStuck(t *testing.T) {
	if !*minute {
		t.Skip("skipped: without -minute")
	}
	dburltest.Everywhere(t, func(t *testing.T, url string) {
		k := newKeyed(t, url, "")
		k.hold(func() {
			if k.store.Dialect() != nebis.SQLite { // which does not tell for how long
				if codes, _ := k.check(0, "--read-only"); codes != "" {
					t.Errorf("at once: %s", codes)
				}
			}
			time.Sleep(61 * time.Second)
			codes, r := k.check(1, "--read-only")
			if codes != "stuck" {
				t.Errorf("%s: %+v", codes, r)
			}
			t.Log(r.Findings[0].What)
		})
	})
}

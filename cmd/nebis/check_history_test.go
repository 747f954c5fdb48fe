package main

import (
	"context"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl/dburltest"
	"github.com/nebis-dev/nebis/hourly"
)

// counts counts some operations, of this hour or of three days ago.
func (k *keyed) counts(day bool, events ...nebis.Event) {
	k.t.Helper()
	c, err := hourly.New(k.db, k.store.Dialect(), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := c.Migrate(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	for _, e := range events {
		c.Observe(context.Background(), e)
	}
	if err := c.Flush(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	if !day {
		k.exec("UPDATE idempotency_hourly SET at_hour = '" + time.Now().UTC().Add(-72*time.Hour).Format("2006-01-02 15") + "'")
	}
}

func TestCheckComparesTheDayWithTheWeekBefore(t *testing.T) {
	ran := nebis.Event{Scope: "order", Outcome: nebis.Ran}
	again := nebis.Event{Scope: "order", Outcome: nebis.ReplayedTable}
	many := func(e nebis.Event, n int) (all []nebis.Event) {
		for range n {
			all = append(all, e)
		}
		return all
	}
	for name, c := range map[string]struct {
		before, now []nebis.Event
		codes       string
	}{
		"nothing":        {nil, nil, ""},
		"the first day":  {nil, []nebis.Event{ran, again}, ""},
		"as always":      {many(again, 7), []nebis.Event{ran, again}, ""},
		"from none":      {[]nebis.Event{ran}, []nebis.Event{ran, again}, "retries-began"},
		"three times":    {many(again, 70), many(again, 31), "retries-rose"},
		"a few more":     {many(again, 7), many(again, 19), ""},
		"mismatch":       {nil, []nebis.Event{{Scope: "pay", Outcome: nebis.Mismatch}}, "mismatch"},
		"lost":           {nil, []nebis.Event{{Scope: "pay", Outcome: nebis.Lost}}, "lost"},
		"failed":         {nil, many(nebis.Event{Scope: "pay", Outcome: nebis.Failed}, 10), "failed"},
		"failed of many": {nil, append(many(nebis.Event{Scope: "pay", Outcome: nebis.Failed}, 10), many(ran, 1000)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeyed(t, dburltest.SQLite(t), "")
			k.counts(false, c.before...)
			k.counts(true, c.now...)
			want := 0
			if c.codes != "" {
				want = 1
			}
			if codes, r := k.check(want); codes != c.codes {
				t.Errorf("%s: %+v", codes, r)
			}
		})
	}
}

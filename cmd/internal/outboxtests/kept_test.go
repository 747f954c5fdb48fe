package outboxtests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/outbox"
)

func testNotKept(d *desk) {
	d.o.Handle("call", quick(func(context.Context, *outbox.Job) (any, error) { return strings.Repeat("x", 101), nil }))
	d.run()
	id := d.add(1)
	d.becomes(outbox.Done)
	if j := d.show(id); j.Result != nil || !strings.Contains(j.Error, "not kept") {
		d.t.Errorf("became %+v", j)
	}
	d.within(func(tx *sql.Tx) error {
		for _, payload := range []any{strings.Repeat("x", 101), make(chan int)} {
			if _, err := d.o.Add(d.t.Context(), tx, "call", payload); !errors.Is(err, outbox.ErrCall) {
				d.t.Errorf("payload %T: error %v", payload, err)
			}
		}
		if _, err := d.o.Add(d.t.Context(), tx, "other", 1); !errors.Is(err, outbox.ErrCall) {
			d.t.Errorf("a name that nobody handles: error %v", err)
		}
		return nil
	})
}

func testKeys(d *desk) {
	lengths := map[int64]int{}
	for _, n := range []int{32, 36, 64} {
		name := fmt.Sprint("call-", n)
		d.o.Handle(name, outbox.Call{KeyLength: n})
		d.within(func(tx *sql.Tx) error {
			id, err := d.o.Add(d.t.Context(), tx, name, nil)
			lengths[id] = n
			return err
		})
	}
	for id, n := range lengths {
		if key := d.show(id).Key; len(key) != n {
			d.t.Errorf("key %q, want length %d", key, n)
		}
	}
	if err := d.o.Run(d.t.Context()); err == nil {
		d.t.Error("a Run without anything to do")
	}
}

func testPurge(d *desk) {
	d.o.Handle("call", quick(func(_ context.Context, j *outbox.Job) (any, error) {
		if string(j.Payload) == `"bad"` {
			return nil, outbox.Permanent(errGone)
		}
		return nil, nil
	}))
	d.run()
	states := []outbox.State{}
	for _, payload := range []string{"good", "good", "bad", "good"} {
		d.add(payload)
		states = append(states, d.next().State)
	}
	slices.Sort(states)
	time.Sleep(5 * time.Millisecond) // Keep
	for _, want := range []int{2, 1, 0} {
		if n, err := d.o.Purge(d.t.Context(), 2); n != want || err != nil {
			d.t.Errorf("purged %d, want %d, error %v", n, want, err)
		}
	}
	if list, err := d.o.List(d.t.Context(), outbox.Filter{}); err != nil || len(list) != 1 || list[0].State != outbox.Dead {
		d.t.Errorf("left %v, error %v, of %v", list, err, states)
	}
}

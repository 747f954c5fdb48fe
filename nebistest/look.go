package nebistest

import (
	"context"
	"errors"
	"time"

	"github.com/nebis-dev/nebis"
)

var _ = register(
	testCase{"Look/tells each state", 0, testLookStates},
	testCase{"Look/tells the times in UTC, whatever the session's zone", 0, testLookTimes},
	testCase{"Look/tells of old code's rows, but not what they say", 0, testLookOld},
	testCase{"Look/a malformed key is an error", 0, testLookMalformed},
)

// look returns what both stores say of a key, which has to be the same.
func (w *world) look(key string) *nebis.Entry {
	w.Helper()
	op := w.op(key)
	var found [2]*nebis.Entry
	for i, s := range w.stores {
		var err error
		found[i], err = s.Look(w.Context(), op.Scope, op.Owner, op.Key)
		w.must(err)
	}
	if (found[0] == nil) != (found[1] == nil) || found[0] != nil && (found[0].State != found[1].State || found[0].CreatedAt != found[1].CreatedAt) {
		w.Errorf("two stores see %+v and %+v", found[0], found[1])
	}
	return found[0]
}

// wantState checks what Look says of a key.
func (w *world) wantState(key string, state nebis.State, response string, attempts int) *nebis.Entry {
	w.Helper()
	e := w.look(key)
	if e == nil {
		w.Fatalf("%s: there is no such key, want %s", key, state)
	}
	if e.State != state || string(e.Response) != response || e.Attempts != attempts {
		w.Errorf("%s: %s with %q after %d attempts, want %s with %q after %d", key, e.State, e.Response, e.Attempts, state, response, attempts)
	}
	return e
}

func testLookStates(w *world) {
	o := &outside{world: w}
	if e := w.look("k"); e != nil {
		w.Errorf("before anything: %+v", e)
	}
	_, _, err := o.lease(0, w.op("k"), nil, func(ctx context.Context) (Order, error) {
		if e := w.wantState("k", nebis.StateInProgress, "", 1); !e.LeaseUntil.After(e.CreatedAt) {
			w.Errorf("its lease ends at %v", e.LeaseUntil)
		}
		return Order{}, nebis.NotDone(errFirst)
	})
	if err != errFirst {
		w.Error(err)
	}
	if e := w.wantState("k", nebis.StateFree, "", 1); e.Error != errFirst.Error() {
		w.Errorf("error %q", e.Error)
	}
	_, _, err = o.lease(1, w.op("k"), nil, func(context.Context) (Order, error) { return Order{}, errors.New("无法知道") })
	if !errors.Is(err, nebis.ErrUnknown) {
		w.Error(err)
	}
	if e := w.wantState("k", nebis.StateUnknown, "", 2); e.Error != "无法知道" {
		w.Errorf("error %q", e.Error)
	}
	_, _, err = o.lease(0, w.op("done"), nil, o.buy)
	w.must(err)
	w.wantState("done", nebis.StateDone, `{"ID":1,"Item":"tea"}`, 1)
	w.expire()
	w.wantState("done", nebis.StateExpired, `{"ID":1,"Item":"tea"}`, 1)
	w.wantState("k", nebis.StateUnknown, "", 2) // it does not expire
	if err := w.doSQL("by-hand", "COMMIT"); !errors.Is(err, nebis.ErrUnknown) {
		w.Error(err)
	}
	if e := w.wantState("by-hand", nebis.StateUnknown, "", 1); !e.LeaseUntil.IsZero() {
		w.Errorf("a lease until %v, want none", e.LeaseUntil)
	}
}

func testLookTimes(w *world) {
	op := w.op("k")
	op.Keep = 48 * time.Hour
	_, _, err := w.do(0, op)
	w.must(err)
	e := w.look("k")
	if d := e.ExpiresAt.Sub(e.CreatedAt) - op.Keep; d.Abs() > time.Minute || e.UpdatedAt.Before(e.CreatedAt) {
		w.Errorf("made at %v, changed at %v, expires at %v, after %v", e.CreatedAt, e.UpdatedAt, e.ExpiresAt, op.Keep)
	}
	zone := map[nebis.Dialect]string{nebis.Postgres: "+00"}[w.d]
	w.exec("UPDATE " + w.keys + " SET created_at = '2001-02-03 04:05:06.789" + zone + "', updated_at = '1969-12-31 23:59:59.999" + zone +
		"', expires_at = NULL, lease_until = '2026-08-31 00:00:00" + zone + "'")
	if e = w.look("k"); e.State != nebis.StateDone || !e.SeenUntil.IsZero() || !e.LeaseUntil.IsZero() {
		w.Errorf("what does not expire is not remembered for longer: %+v", e)
	}
	w.exec("UPDATE " + w.keys + " SET status = 'processing', updated_at = updated_at")
	e = w.look("k")
	for name, got := range map[string]struct {
		got  time.Time
		want string
	}{
		"made":    {e.CreatedAt, "2001-02-03 04:05:06.789 +0000 UTC"},
		"changed": {e.UpdatedAt, "1969-12-31 23:59:59.999 +0000 UTC"},
		"expires": {e.ExpiresAt, "0001-01-01 00:00:00 +0000 UTC"},
		"lease":   {e.LeaseUntil, "2026-08-31 00:00:00 +0000 UTC"},
	} {
		if got.got.String() != got.want {
			w.Errorf("%s: %v, want %s", name, got.got, got.want)
		}
	}
}

func testLookOld(w *world) {
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, status, response) VALUES ('k', 'order', 'done', '\"somebody''s\"')")
	w.exec("INSERT INTO " + w.keys + " (idem_key, scope, status) VALUES ('runs', 'order', 'processing')")
	w.wantState("k", nebis.StateDone, "", 1)
	w.wantState("runs", nebis.StateInProgress, "", 1)
	w.expire()
	w.wantState("runs", nebis.StateExpired, "", 1)
}

func testLookMalformed(w *world) {
	for _, op := range []nebis.Op{{Scope: "", Owner: "o", Key: "k"}, {Scope: "s", Owner: "", Key: "k"}, {Scope: "s", Owner: "o", Key: "a b"}} {
		if _, err := w.stores[0].Look(w.Context(), op.Scope, op.Owner, op.Key); !errors.Is(err, nebis.ErrKey) {
			w.Errorf("%+v: error %v", op, err)
		}
	}
}

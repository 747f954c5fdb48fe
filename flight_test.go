package nebis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Nobody waits so long in these tests; they wait for events.
const forever = time.Hour

func waiters(fs *flights, k flightKey) int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.m[k]; f != nil {
		return f.waiting
	}
	return 0
}

// ask is a call for k that begins now, in a store that lets ten wait.
func ask(k flightKey) *call {
	now := time.Now()
	s := &Store{o: Options{MaxWaiters: 10}}
	return &call{s: s, op: Op{Scope: k.scope, Owner: k.owner, Key: k.key}, start: now, deadline: now.Add(forever)}
}

func lead(t *testing.T, fs *flights, k flightKey) *flight {
	t.Helper()
	f, r, err := fs.join(context.Background(), ask(k))
	if f == nil || r != nil || err != nil {
		t.Fatalf("not the leader: %v %v %v", f, r, err)
	}
	return f
}

func TestAllWhoWaitGetTheLeadersRow(t *testing.T) {
	var fs flights
	k := flightKey{"s", "o", "k"}
	f, want := lead(t, &fs, k), &row{token: "t", at: time.Now().Add(time.Hour)}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if f, r, err := fs.join(context.Background(), ask(k)); f != nil || r != want || err != nil {
				t.Errorf("got %v %v %v", f, r, err)
			}
		})
	}
	for waiters(&fs, k) < 10 {
		time.Sleep(time.Millisecond)
	}
	if _, _, err := fs.join(context.Background(), ask(k)); !errors.Is(err, ErrInProgress) {
		t.Errorf("one too many: %v", err)
	}
	fs.leave(k, f, want)
	wg.Wait()
	if len(fs.m) != 0 {
		t.Errorf("%d flights left", len(fs.m))
	}
}

func TestOneAfterTheOtherLeadsWhenAllFail(t *testing.T) {
	var fs flights
	k := flightKey{"s", "o", "k"}
	f := lead(t, &fs, k)
	var wg sync.WaitGroup
	leaders := 0 // written by one leader at a time; the race detector watches
	for range 10 {
		wg.Go(func() {
			f, r, err := fs.join(context.Background(), ask(k))
			if f == nil || r != nil || err != nil {
				t.Errorf("got %v %v %v", f, r, err)
				return
			}
			leaders++
			fs.leave(k, f, nil)
		})
	}
	for waiters(&fs, k) < 10 {
		time.Sleep(time.Millisecond)
	}
	fs.leave(k, f, nil)
	wg.Wait()
	if leaders != 10 || len(fs.m) != 0 {
		t.Errorf("%d leaders, %d flights left", leaders, len(fs.m))
	}
}

// Another process may have replaced the row since the leader asked for it.
func TestWhoCameAfterTheRowWasAskedForGoesOn(t *testing.T) {
	var fs flights
	k := flightKey{"s", "o", "k"}
	f, before, after := lead(t, &fs, k), ask(k), ask(k)
	r := &row{token: "t", at: after.start}
	before.start = r.at.Add(-1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if f, got, err := fs.join(context.Background(), before); f != nil || got != r || err != nil {
			t.Errorf("before: %v %v %v", f, got, err)
		}
	})
	wg.Go(func() {
		f, got, err := fs.join(context.Background(), after)
		if f == nil || got != nil || err != nil {
			t.Errorf("after: %v %v %v", f, got, err)
			return
		}
		fs.leave(k, f, nil)
	})
	for waiters(&fs, k) < 2 {
		time.Sleep(time.Millisecond)
	}
	fs.leave(k, f, r)
	wg.Wait()
	if len(fs.m) != 0 {
		t.Errorf("%d flights left", len(fs.m))
	}
}

// Meanwhile so many others wait that one more would be refused.
func TestWhoGoesOnIsNotTurnedAway(t *testing.T) {
	var fs flights
	k := flightKey{"s", "o", "k"}
	f, c := lead(t, &fs, k), ask(k)
	full := &flight{waiting: 10, done: make(chan struct{}), baton: make(chan struct{}, 1)}
	want := &row{token: "new", at: c.start.Add(1)}
	var wg sync.WaitGroup
	var returned atomic.Bool
	wg.Go(func() {
		defer returned.Store(true)
		if f, r, err := fs.join(context.Background(), c); f != nil || r != want || err != nil {
			t.Errorf("got %v %v %v", f, r, err)
		}
	})
	for waiters(&fs, k) == 0 {
		time.Sleep(time.Millisecond)
	}
	fs.mu.Lock()
	fs.m[k], f.row = full, &row{token: "old", at: c.start}
	close(f.done)
	fs.mu.Unlock()
	for waiters(&fs, k) < 11 && !returned.Load() {
		time.Sleep(time.Millisecond)
	}
	fs.leave(k, full, want)
	wg.Wait()
}

func TestABatonThatNobodyTakesEndsTheFlight(t *testing.T) {
	var fs flights
	k := flightKey{"s", "o", "k"}
	f := lead(t, &fs, k)
	if _, leads, err := fs.enter(k, 10); leads || err != nil {
		t.Fatalf("not a waiter: %v %v", leads, err)
	}
	fs.leave(k, f, nil) // the baton is the waiter's
	fs.giveUp(k, f)     // who gave up at the same moment
	if len(fs.m) != 0 {
		t.Fatalf("%d flights left", len(fs.m))
	}
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	var fs flights
	a := lead(t, &fs, flightKey{"s", "o", "a"})
	b := lead(t, &fs, flightKey{"s", "o", "b"})
	c := lead(t, &fs, flightKey{"s", "p", "a"})
	fs.leave(flightKey{"s", "o", "a"}, a, nil)
	fs.leave(flightKey{"s", "o", "b"}, b, nil)
	fs.leave(flightKey{"s", "p", "a"}, c, nil)
	if len(fs.m) != 0 {
		t.Errorf("%d flights left", len(fs.m))
	}
}

func TestRunningNamesWhatIsUnderWayTheOldestFirst(t *testing.T) {
	s := new(Store)
	if got := s.Running(0); got != nil {
		t.Errorf("%v", got)
	}
	old, young := flightKey{"pay", "o", "k"}, flightKey{"order", "o", "k"}
	f := lead(t, &s.fs, old)
	f.began = f.began.Add(-2 * time.Hour)
	lead(t, &s.fs, young).began = time.Now().Add(-time.Minute)
	if got := s.Running(time.Second); len(got) != 2 || got[0].Scope != "pay" || got[0].For < 2*time.Hour || got[1].Scope != "order" {
		t.Errorf("%v", got)
	}
	if got := s.Running(time.Hour); len(got) != 1 || got[0].Scope != "pay" {
		t.Errorf("%v", got)
	}
	// Who goes on after a failed leader has only begun.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, _, err := s.fs.join(context.Background(), ask(old)); err != nil {
			t.Error(err)
		}
	}()
	for waiters(&s.fs, old) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.fs.leave(old, f, nil)
	<-ended
	if got := s.Running(time.Hour); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

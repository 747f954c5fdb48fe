package outbox

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"
)

func TestThePauseDoublesUpToItsBound(t *testing.T) {
	c := Call{Attempts: 100, Backoff: 10 * time.Second, MaxBackoff: time.Hour}
	for tries, most := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 9: 2560 * time.Second, 10: time.Hour, 99: time.Hour} {
		var longest time.Duration
		for range 1000 {
			d, again := c.again(tries, errVanished)
			if !again || d < 0 || d > most {
				t.Fatalf("after %d tries a pause of %v (again: %v), at most %v", tries, d, again, most)
			}
			longest = max(longest, d)
		}
		if longest < most/2 {
			t.Errorf("after %d tries the longest of 1000 pauses is %v of %v", tries, longest, most)
		}
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	c := Call{Attempts: 3, Backoff: time.Hour, MaxBackoff: time.Hour}
	errGone := errors.New("gone")
	for _, test := range []struct {
		err   error
		tries int
		again bool
	}{
		{errGone, 2, true},
		{errGone, 3, false},
		{Permanent(errGone), 1, false},
		{fmt.Errorf("pay: %w", Permanent(errGone)), 1, false},
		{RetryAfter(time.Second, errGone), 1, true},
		{RetryAfter(time.Second, errGone), 3, false},
		{RetryAfter(time.Second, Permanent(errGone)), 1, false},
	} {
		if _, again := c.again(test.tries, test.err); again != test.again {
			t.Errorf("%v after %d tries: again %v", test.err, test.tries, again)
		}
	}
	for want, d := range map[time.Duration]time.Duration{time.Second: time.Second, 0: -time.Second, longest: 1 << 62} {
		if got, _ := c.again(1, fmt.Errorf("pay: %w", RetryAfter(d, errGone))); got != want {
			t.Errorf("RetryAfter(%v) is a pause of %v", d, got)
		}
	}
	for _, err := range []error{Permanent(nil), RetryAfter(0, nil)} {
		if err.Error() == "" {
			t.Errorf("%T says nothing", err)
		}
	}
}

func TestTheShapesOfKeys(t *testing.T) {
	for length, shape := range map[int]string{
		32: `^[0-9a-f]{32}$`, 64: `^[0-9a-f]{64}$`,
		36: `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	} {
		if a, b := newKey(length), newKey(length); !regexp.MustCompile(shape).MatchString(a) || a == b {
			t.Errorf("keys of %d: %s, %s", length, a, b)
		}
	}
}

func TestHandleRefusesMistakes(t *testing.T) {
	o := &Outbox{calls: map[string]Call{}}
	o.Handle("twice", Call{})
	for name, c := range map[string]Call{
		"": {}, "a b": {}, "购物车": {}, "twice": {},
		"attempts": {Attempts: -1}, "backoff": {Backoff: -1}, "timeout": {Timeout: -1}, "key": {KeyLength: 40},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("takes %q with %+v", name, c)
				}
			}()
			o.Handle(name, c)
		}()
	}
}

func TestWhoSkipsLockedRows(t *testing.T) {
	for version, want := range map[string]bool{
		"5.6.24": false, "5.7.44-log": false, "8.0.36": true, "9.1.0": true,
		"10.11.19-MariaDB": true, "5.5.5-10.6.18-MariaDB-log": true, "11.8.2-MariaDB": true, "?": false,
	} {
		if skips(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
}

func TestSchemaKnowsItsNames(t *testing.T) {
	for _, table := range []string{"a b", "x;", "1a", "a.b.c", "."} {
		if _, err := Schema(1, table); err == nil {
			t.Errorf("takes a table %q", table)
		}
	}
	if _, err := Schema(99, ""); err == nil {
		t.Error("takes a dialect that is not there")
	}
}

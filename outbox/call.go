package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"
)

// A Call says how calls of one name are made.
type Call struct {
	// Do makes the call. Its context ends with the worker's lease and with
	// Timeout. What it returns is encoded as JSON and kept with the call. An error
	// or a panic is a failed try, which is made again with the same Job.Key, unless
	// the error is made by Permanent. One that does not heed its context keeps its
	// place in Run, beside the next try. Without Do this process only adds calls of
	// this name, and leaves them to others.
	Do func(ctx context.Context, j *Job) (result any, err error)

	// Compensate undoes in the database what was done in the expectation of the
	// call. It runs once the call has failed for good, in a transaction that also
	// sets the call's state, so what it writes through tx is there exactly once. An
	// error or a panic rolls back; it is tried again as often as the call. Without
	// it a call that has failed for good is dead, until a person decides.
	//
	// A try that was never answered may have reached the other side: Job.Error says
	// how the last one ended. Where the worker vanished during it, or lost its lease,
	// nothing is compensated: the call is dead, and a person looks.
	Compensate func(ctx context.Context, tx *sql.Tx, j *Job) error

	// Attempts is how often the call is tried. Defaults to 10.
	Attempts int

	// Backoff is the longest pause after the first failed try; it doubles with each,
	// up to MaxBackoff. The pause itself is random, from nothing to that. They
	// default to 10 seconds and 1 hour: ten tries in 85 minutes at most.
	Backoff, MaxBackoff time.Duration

	// Timeout is how long one try may take. Defaults to 1 minute.
	Timeout time.Duration

	// KeyLength is the length of Job.Key: 36 is a random UUID, 32 and 64 are
	// hexadecimal digits. Defaults to 36. The key is made by Add.
	KeyLength int
}

var nameShape = regexp.MustCompile(`^[!-~]{1,64}$`)

// Handle says how calls of a name are made. All names are given before the first
// Add and Run, in every process that adds or makes calls of that name. It panics
// when the name is malformed (1 to 64 characters from ! to ~) or was given before,
// or when a field of the Call is out of range.
func (o *Outbox) Handle(name string, c Call) {
	if !nameShape.MatchString(name) {
		panic(fmt.Sprintf("outbox: name %q: want 1 to 64 characters from ! to ~", name))
	}
	if c.Attempts < 0 || c.Backoff < 0 || c.MaxBackoff < 0 || c.Timeout < 0 {
		panic("outbox: call " + name + ": a bound is negative")
	}
	orDefault(&c.Attempts, 10)
	orDefault(&c.Backoff, 10*time.Second)
	orDefault(&c.MaxBackoff, time.Hour)
	orDefault(&c.Timeout, time.Minute)
	orDefault(&c.KeyLength, 36)
	if newKey(c.KeyLength) == "" {
		panic(fmt.Sprintf("outbox: call %s: key length %d; want 32, 36 or 64", name, c.KeyLength))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.calls[name]; twice {
		panic("outbox: call " + name + " was given to Handle before")
	}
	o.calls[name] = c
}

func (o *Outbox) call(name string) (Call, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	c, ok := o.calls[name]
	return c, ok
}

// made returns the names of the calls that this process makes.
func (o *Outbox) made() []any {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var names []any
	for name, c := range o.calls {
		if c.Do != nil {
			names = append(names, name)
		}
	}
	return names
}

// Permanent marks an error after which no try will succeed: the call has failed
// for good at once.
func Permanent(err error) error {
	if err == nil {
		err = errors.New("outbox: failed for good")
	}
	return permanent{err}
}

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// RetryAfter marks an error with the time after which the next try is made, as
// the other side has said. It does not add to the number of tries.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = fmt.Errorf("outbox: try again after %v", d)
	}
	return retryAfter{err, d}
}

type retryAfter struct {
	error
	d time.Duration
}

func (r retryAfter) Unwrap() error { return r.error }

// again says whether there is a next try after one that failed with err, and
// after what pause.
func (c *Call) again(tries int, err error) (time.Duration, bool) {
	var after retryAfter
	switch {
	case tries >= c.Attempts || errors.As(err, new(permanent)):
		return 0, false
	case errors.As(err, &after):
		return min(max(after.d, 0), longest), true
	}
	return c.pause(tries), true
}

// longest is a pause that every database's calendar takes.
const longest = 365 * 24 * time.Hour

// pause is random up to a bound that doubles, so that calls which failed together
// do not come back together.
func (c *Call) pause(tries int) time.Duration {
	most := min(c.Backoff, c.MaxBackoff)
	for range tries - 1 {
		if most >= c.MaxBackoff/2 {
			most = c.MaxBackoff
			break
		}
		most *= 2
	}
	return rand.N(most + 1)
}

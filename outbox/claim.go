package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/binlog"
)

// A way to claim: it claims at most n calls under a token, and reports whether
// more may be due.
type way func(w *worker, ctx context.Context, token string, n int) (jobs []*Job, more bool, err error)

// answerTime bounds what a worker asks of the database in one go.
const answerTime = 10 * time.Second

// claimTries: at SERIALIZABLE, and on InnoDB, claims meet.
const claimTries = 5

// claim claims at most n calls that are due. Its statements are not cut when Run
// ends: a claim that goes through unseen would keep its calls for a lease.
func (w *worker) claim(token string, n int) (jobs []*Job, more bool, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, answerTime)
	defer cancel()
	claim, err := w.o.wayOf(ctx)
	if err != nil {
		return nil, false, err
	}
	for try := range claimTries {
		if jobs, more, err = claim(w, ctx, token, n); err == nil {
			return jobs, more, nil
		}
		sleep(ctx, rand.N(time.Duration(try+1)*5*time.Millisecond))
	}
	return nil, false, fmt.Errorf("outbox: claim: %w", err)
}

// wayOf asks MySQL once which of its kind it is.
func (o *Outbox) wayOf(ctx context.Context) (way, error) {
	if f := o.way.Load(); f != nil {
		return *f, nil
	}
	f := way((*worker).takeAtOnce)
	if o.d == nebis.MySQL {
		var version string
		if err := o.db.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
			return nil, fmt.Errorf("outbox: ask for the server's version: %w", err)
		}
		f = (*worker).takeSeen
		if skips(version) {
			f = (*worker).takeUnlocked
		}
	}
	o.way.Store(&f)
	return f, nil
}

// loose is the lowest level at which this server lets a transaction write that would
// rather not lock gaps.
func (o *Outbox) loose(ctx context.Context) (sql.IsolationLevel, error) {
	if level := o.level.Load(); level != nil {
		return *level, nil
	}
	level, err := binlog.Level(ctx, o.db, sql.LevelReadCommitted)
	if err == nil {
		o.level.Store(&level)
	}
	return level, err
}

var major = regexp.MustCompile(`^(?:5\.5\.5-)?([0-9]+)\.`)

// skips reports whether the server has SKIP LOCKED: MariaDB from 10.6, the oldest
// that is supported, and MySQL from 8.0.
func skips(version string) bool {
	m := major.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	return n >= 8
}

// lookArgs are the arguments of a look for at most n calls.
func (w *worker) lookArgs(n int, before ...any) []any {
	return append(append(before, w.names...), n)
}

func (w *worker) look(ctx context.Context, q querier, n int, more string) ([]*Job, error) {
	return scanJobs(q.QueryContext(ctx, w.lookFor+more, w.lookArgs(n)...))
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// takeAtOnce claims by one statement: on PostgreSQL with SKIP LOCKED; SQLite has
// one writer, so it looks first, which does not stand in its way.
func (w *worker) takeAtOnce(ctx context.Context, token string, n int) ([]*Job, bool, error) {
	if w.o.d == nebis.SQLite {
		if due, err := w.look(ctx, w.o.db, 1, ""); len(due) == 0 {
			return nil, false, err
		}
	}
	free, err := w.o.turn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer free()
	jobs, err := scanJobs(w.o.db.QueryContext(ctx, w.takeFor, w.lookArgs(n, token, w.o.o.Lease.Microseconds())...))
	return jobs, len(jobs) == n, err
}

// takeUnlocked claims in a transaction what nobody else is claiming. At READ
// COMMITTED, because a look at REPEATABLE READ would lock the gap into which Add
// inserts.
func (w *worker) takeUnlocked(ctx context.Context, token string, n int) ([]*Job, bool, error) {
	if due, err := w.look(ctx, w.o.db, 1, ""); len(due) == 0 {
		return nil, false, err
	}
	level, err := w.o.loose(ctx)
	if err != nil {
		return nil, false, err
	}
	tx, err := w.o.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback()
	jobs, err := w.look(ctx, tx, n, ` FOR UPDATE SKIP LOCKED`)
	if err != nil || len(jobs) == 0 {
		return nil, false, err
	}
	args := []any{token, w.o.o.Lease.Microseconds()}
	for _, j := range jobs {
		args = append(args, j.ID)
		j.claimed()
	}
	if _, err := tx.ExecContext(ctx, listed(w.o.q.takeThese, len(jobs)), args...); err != nil {
		return nil, false, err
	}
	return jobs, len(jobs) == n, tx.Commit()
}

// takeSeen claims row by row what is still as it was seen. It looks at more than
// it wants, and begins anywhere, so that workers seldom want the same.
func (w *worker) takeSeen(ctx context.Context, token string, n int) ([]*Job, bool, error) {
	seen, err := w.look(ctx, w.o.db, 4*n, "")
	if err != nil {
		return nil, false, err
	}
	rand.Shuffle(len(seen), func(i, k int) { seen[i], seen[k] = seen[k], seen[i] })
	var jobs []*Job
	for _, j := range seen {
		if len(jobs) == n {
			break
		}
		var won bool
		won, err = w.o.change(ctx, w.o.q.takeOne, token, w.o.o.Lease.Microseconds(), j.ID, j.State, j.Attempts, j.Compensations)
		if err != nil {
			break
		}
		if won {
			j.claimed()
			jobs = append(jobs, j)
		}
	}
	if len(jobs) > 0 {
		err = nil // those that are claimed have to be made
	}
	return jobs, len(seen) > len(jobs), err
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// turn waits for the turn of the one writer: on SQLite, workers that wait in the
// database poll for it, and starve. Elsewhere nobody waits.
func (o *Outbox) turn(ctx context.Context) (free func(), err error) {
	if o.d != nebis.SQLite {
		return func() {}, nil
	}
	select {
	case o.one <- struct{}{}:
		return func() { <-o.one }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// change is changed in a transaction of its own.
func (o *Outbox) change(ctx context.Context, query string, args ...any) (bool, error) {
	free, err := o.turn(ctx)
	if err != nil {
		return false, err
	}
	defer free()
	return o.changed(ctx, o.db, query, args...)
}

// changed runs a statement for one row and reports whether it matched.
func (o *Outbox) changed(ctx context.Context, x execer, query string, args ...any) (bool, error) {
	for i, a := range args {
		if s, ok := a.(State); ok {
			args[i] = string(s)
		}
	}
	res, err := x.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

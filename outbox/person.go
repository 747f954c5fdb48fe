package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/internal/sqltext"
)

// A Filter says which calls List returns. Its zero value is all of them.
type Filter struct {
	State  State  // "": every state
	Name   string // "": every name
	Before int64  // only those with a smaller id: the last id of the page before
	Limit  int    // defaults to 100
}

// List returns calls, the newest first, without payload and result. The next page
// is the one before its last id.
func (o *Outbox) List(ctx context.Context, f Filter) ([]*Job, error) {
	var where []string
	var args []any
	add := func(given bool, condition string, arg any) {
		if given {
			where, args = append(where, condition), append(args, arg)
		}
	}
	add(f.State != "", "state = ?", string(f.State))
	add(f.Name != "", "name = ?", f.Name)
	add(f.Before > 0, "id < ?", f.Before)
	text := ""
	if len(where) > 0 {
		text = " WHERE " + strings.Join(where, " AND ")
	}
	orDefault(&f.Limit, 100)
	query := strings.Replace(o.q.list, "{where}", text, 1)
	jobs, err := scanJobs(o.db.QueryContext(ctx, o.sql.final(query), append(args, f.Limit)...))
	if err != nil {
		return nil, fmt.Errorf("outbox: list: %w", err)
	}
	return jobs, nil
}

// Show returns one call; nil: there is none of that id.
func (o *Outbox) Show(ctx context.Context, id int64) (*Job, error) {
	j, err := o.find(ctx, o.db, id)
	if err != nil {
		return nil, fmt.Errorf("outbox: show: %w", err)
	}
	return j, nil
}

func (o *Outbox) find(ctx context.Context, q querier, id int64) (*Job, error) {
	jobs, err := scanJobs(q.QueryContext(ctx, o.q.now, id))
	if len(jobs) == 0 {
		return nil, err
	}
	return jobs[0], err
}

// Retry has a dead or failed call made again now, with all its tries before it and
// the same key, in a transaction of the caller's, so that a record of who did it
// commits with it. The reason goes into the column error, cut after 500
// characters, and must not be empty. The job is what was there before; nil:
// nothing.
//
// It acts only on the row as it saw it. Errors: [nebis.ErrState], when the call is
// not in a state for that; [nebis.ErrInProgress], when a worker has it;
// [nebis.ErrKey], when the reason is missing; the database's, after which the
// caller rolls back.
func (o *Outbox) Retry(ctx context.Context, tx *sql.Tx, id int64, reason string) (before *Job, err error) {
	before, err = o.decide(ctx, tx, o.q.retry, id, "retry", reason, Dead, Failed)
	if err == nil {
		o.hints.added(id)
	}
	return before, err
}

// Park has a call wait for a person: it becomes dead. It acts on calls that are
// pending, failed or compensating, and on those whose worker has vanished. Else it
// is like [Outbox.Retry].
func (o *Outbox) Park(ctx context.Context, tx *sql.Tx, id int64, reason string) (before *Job, err error) {
	return o.decide(ctx, tx, o.q.park, id, "park", reason, Pending, Running, Failed, Compensating)
}

// Compensate has a call compensated that is dead, failed or pending: a worker runs
// its [Call.Compensate], with all its tries before it. Else it is like
// [Outbox.Retry].
func (o *Outbox) Compensate(ctx context.Context, tx *sql.Tx, id int64, reason string) (before *Job, err error) {
	before, err = o.decide(ctx, tx, o.q.compensate, id, "compensate", reason, Pending, Failed, Dead)
	if err == nil {
		o.hints.added(id)
	}
	return before, err
}

var errNoReason = errors.New("a reason is missing")

func (o *Outbox) decide(ctx context.Context, tx *sql.Tx, query string, id int64, action, reason string, from ...State) (*Job, error) {
	if strings.TrimSpace(reason) == "" {
		return nil, fmt.Errorf("%w: %w", nebis.ErrKey, errNoReason)
	}
	if o.q.takeWriter != "" {
		if _, err := tx.ExecContext(ctx, o.q.takeWriter); err != nil {
			return nil, fmt.Errorf("outbox: %s: %w", action, err)
		}
	}
	before, err := o.find(ctx, tx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("outbox: %s: %w", action, err)
	case before == nil:
		return nil, fmt.Errorf("%w: there is no call %d", nebis.ErrState, id)
	case before.underWay():
		return before, fmt.Errorf("%w: a worker has call %d", nebis.ErrInProgress, id)
	case !slices.Contains(from, before.State):
		return before, fmt.Errorf("%w: call %d is %s", nebis.ErrState, id, before.State)
	}
	text := o.sql.argument(sqltext.Error("by hand, " + action + ": " + reason))
	done, err := o.changed(ctx, tx, query, text, id, before.State, before.Attempts, before.Compensations)
	switch {
	case err != nil:
		return before, fmt.Errorf("outbox: %s: %w", action, err)
	case !done:
		return before, fmt.Errorf("%w: call %d has changed meanwhile; look again", nebis.ErrState, id)
	}
	return before, nil
}

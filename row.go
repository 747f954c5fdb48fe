package nebis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A row is what the table says of a key.
type row struct {
	id                 int64
	status             string
	fingerprint, token string
	response           sql.NullString
	free               bool // may be taken over: freed, or expired
	lease              int  // 0 none, 1 running, 2 over; of a row that is done: how long it is remembered
	fresh              bool // done so lately that it may not be on disk

	at time.Time // when it was asked for, or sent to be saved
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type querier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// readRow returns the row that stands in the way of op, or nil.
func readRow(ctx context.Context, q querier, stmt string, op Op) (*row, error) {
	at := time.Now()
	r, err := scanRow(q.QueryRowContext(ctx, stmt, op.Key, op.Scope, op.Owner))
	if r != nil {
		r.at = at
	}
	return r, err
}

// A preparedQuery sends its statement, whatever the text.
type preparedQuery struct{ *sql.Stmt }

func (p preparedQuery) QueryRowContext(ctx context.Context, _ string, args ...any) *sql.Row {
	return p.Stmt.QueryRowContext(ctx, args...)
}

// scanRow scans more columns, if there are any, into more.
func scanRow(answer *sql.Row, more ...any) (*row, error) {
	r := new(row)
	var free, fresh int
	err := answer.Scan(append([]any{&r.id, &r.status, &r.fingerprint, &r.token, &r.response, &free, &r.lease, &fresh}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nebis: read: %w", err)
	}
	r.free, r.fresh = free != 0, fresh != 0
	if r.free && r.status == "done" && r.lease == 1 { // remembered for longer than its answer
		r.free, r.response = false, sql.NullString{}
	}
	return r, nil
}

// hardened makes sure that a row which was finished a moment ago is on disk
// before anyone is told of it. InnoDB shows a commit, and lets its locks go,
// before its log is written; a commit of one's own, later, is answered when all
// that was seen before is on disk. Nil: the row has gone.
func (e *engine) hardened(ctx context.Context, conn *sql.Conn, r *row, wait time.Duration) (*row, error) {
	if r == nil || !r.fresh || e.harden == "" {
		return r, nil
	}
	free, err := e.limited(ctx, conn, wait)
	if err != nil {
		return nil, fmt.Errorf("nebis: harden: %w", err)
	}
	defer free()
	res, err := conn.ExecContext(ctx, e.boundedTx.to(e.harden, max(wait, 0)), r.id, r.token)
	if err != nil {
		return nil, fmt.Errorf("nebis: harden: %w", err)
	}
	n, err := res.RowsAffected()
	if n != 1 {
		r = nil
	}
	return r, err
}

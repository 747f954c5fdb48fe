package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// A turn is that of the one which sweeps.
type turn struct {
	id    int64
	token string
	lease time.Duration
}

func (t *turn) hold(ctx context.Context, tx *sql.Tx, e *engine) error {
	n, err := affected(tx.ExecContext(ctx, e.clean.hold, t.lease.Microseconds(), t.id, t.token))
	if err != nil || n != 1 {
		return orElse(err, ErrSweeping)
	}
	return nil
}

// A batch is what clean-up does in one transaction.
type batch struct {
	limit int
	older time.Duration
	floor string
	held  map[int64]bool // rows that were found held; left alone
	turn  *turn          // that it is part of, if any

	picked []int64 // rows that had expired
	rows   int     // how many of them it removed
	begun  time.Time
}

// do removes what has expired, in tx.
func (b *batch) do(ctx context.Context, tx *sql.Tx, e *engine) error {
	b.begun = time.Now()
	if err := b.first(ctx, tx, e); err != nil {
		return err
	}
	if err := b.pick(ctx, tx, e); err != nil {
		return err
	}
	ids := slices.DeleteFunc(slices.Clone(b.picked), func(id int64) bool { return b.held[id] })
	for some := range slices.Chunk(ids, idsPerStatement) {
		if err := b.drop(ctx, tx, e, some); err != nil {
			return err
		}
	}
	return nil
}

// idsPerStatement keeps the statements short.
const idsPerStatement = 200

// first begins to write, or goes on with the turn, which does.
func (b *batch) first(ctx context.Context, tx *sql.Tx, e *engine) error {
	switch {
	case b.turn != nil:
		return b.turn.hold(ctx, tx, e)
	case e.takeWriter == "":
		return nil
	}
	_, err := tx.ExecContext(ctx, e.takeWriter)
	return err
}

func (b *batch) pick(ctx context.Context, tx *sql.Tx, e *engine) error {
	rows, err := tx.QueryContext(ctx, e.clean.pick, b.older.Microseconds(), b.floor, b.limit+len(b.held))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id, &b.floor); err != nil {
			return err
		}
		b.picked = append(b.picked, id)
	}
	return rows.Err()
}

// drop removes some of the rows that were picked, but for those that somebody
// holds or has changed since.
func (b *batch) drop(ctx context.Context, tx *sql.Tx, e *engine, ids []int64) (err error) {
	if e.clean.lock != "" {
		if ids, err = b.locked(ctx, tx, e, ids); err != nil || len(ids) == 0 {
			return err
		}
	}
	stmt, args := e.clean.of(e.clean.drop, ids)
	n, err := affected(tx.ExecContext(ctx, stmt, args...))
	b.rows += int(n)
	return err
}

// locked locks rows and returns which.
func (b *batch) locked(ctx context.Context, tx *sql.Tx, e *engine, ids []int64) (locked []int64, err error) {
	stmt, _ := e.clean.of(e.clean.lock, ids)
	rows, err := tx.QueryContext(ctx, stmt, b.older.Microseconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		locked = append(locked, id)
	}
	return locked, rows.Err()
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// short runs do in a short transaction of its own that holds no lock longer than
// it has to, and, on SQLite, has its turn as the one writer.
func (s *Store) short(ctx context.Context, do func(*sql.Tx, *engine) error) error {
	if s.d == SQLite { // its turn before a connection, as in begin
		if err := s.takeWriter(ctx, s.o.CommitWait); err != nil {
			return err
		}
		defer s.freeWriter()
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	e, err := s.engine(ctx, conn)
	if err != nil {
		return err
	}
	free, err := e.limited(ctx, conn, 0)
	if err != nil {
		return err
	}
	defer free()
	opts := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	if s.d == SQLite {
		opts = nil
	}
	tx, err := conn.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx, e); err != nil {
		return err
	}
	return tx.Commit()
}

// stamp gives at most limit rows of old code an expiry, and returns how many. One
// that is held waits for another time.
func (s *Store) stamp(ctx context.Context, limit int) (n int64, err error) {
	err = s.short(ctx, func(tx *sql.Tx, e *engine) (err error) {
		stmt := e.clean.stamp
		if s.d == MySQL {
			stmt = e.boundedTx.to(stmt, 0)
		}
		n, err = affected(tx.ExecContext(ctx, stmt, s.o.Keep.Microseconds(), limit))
		return err
	})
	if err != nil && conflict(err) {
		return 0, nil
	}
	return n, err
}

// Purge removes at most limit rows that have expired and returns how many. It is
// one short transaction, and leaves alone what somebody holds; call it until it
// returns 0, or use Sweep, which does. Rows that old code wrote without an expiry
// get one first: now and the store's Keep.
func (s *Store) Purge(ctx context.Context, limit int) (int, error) {
	if _, err := s.stamp(ctx, limit); err != nil {
		return 0, fmt.Errorf("nebis: purge: %w", err)
	}
	held := map[int64]bool{}
	for n := 1; ; n++ {
		b := batch{limit: limit, held: held}
		err := s.short(ctx, func(tx *sql.Tx, e *engine) error {
			b.floor = e.clean.nothing
			return b.do(ctx, tx, e)
		})
		switch {
		case err == nil:
			return b.rows, nil
		case n == batchTries || ctx.Err() != nil:
			return 0, fmt.Errorf("nebis: purge: %w", err)
		}
		limit = b.less(err)
		pause(ctx, 0)
	}
}

// batchTries is how many batches may fail one after the other. On InnoDB a claim
// beside one may make it the victim of a deadlock.
const batchTries = 10

// less is the size of the batch that follows one which failed. MySQL before 8.0.1
// cannot leave out what is held: it fails, again and again, until the one row that
// it waits for is known.
func (b *batch) less(err error) int {
	if b.limit == 1 && len(b.picked) == 1 && conflict(err) {
		b.held[b.picked[0]] = true
	}
	return max(1, b.limit/16)
}

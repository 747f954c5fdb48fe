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

	picked        []due // rows that had expired
	rows, answers int   // what it removed: rows, and the answers of others
	found         int   // rows that it found held
	begun         time.Time
}

// due is a row that has expired.
type due struct {
	id   int64
	seen bool // its key is to be remembered: only the answer goes
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
	rows := slices.DeleteFunc(slices.Clone(b.picked), func(r due) bool { return b.held[r.id] })
	for some := range slices.Chunk(rows, idsPerStatement) {
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
		var r due
		if err := rows.Scan(&r.id, &r.seen, &b.floor); err != nil {
			return err
		}
		b.picked = append(b.picked, r)
	}
	return rows.Err()
}

// drop removes some of the rows that were picked, or their answers, but for those
// that somebody holds or has changed since.
func (b *batch) drop(ctx context.Context, tx *sql.Tx, e *engine, rows []due) (err error) {
	if e.clean.lock != "" {
		if rows, err = b.locked(ctx, tx, e, rows); err != nil {
			return err
		}
	}
	n, err := e.clean.run(ctx, tx, e.clean.drop, slices.DeleteFunc(slices.Clone(rows), func(r due) bool { return r.seen }))
	b.rows += n
	if err != nil {
		return err
	}
	n, err = e.clean.run(ctx, tx, e.clean.fade, slices.DeleteFunc(rows, func(r due) bool { return !r.seen }))
	b.answers += n
	return err
}

// run runs a statement on rows, if there are any, and returns on how many.
func (c *cleanSQL) run(ctx context.Context, tx *sql.Tx, stmt string, rows []due) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	stmt, args := c.of(stmt, rows)
	n, err := affected(tx.ExecContext(ctx, stmt, args...))
	return int(n), err
}

// locked locks rows and returns which; the others are held, or no longer expired.
func (b *batch) locked(ctx context.Context, tx *sql.Tx, e *engine, some []due) (locked []due, err error) {
	stmt, _ := e.clean.of(e.clean.lock, some)
	rows, err := tx.QueryContext(ctx, stmt, b.older.Microseconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r due
		if err := rows.Scan(&r.id, &r.seen); err != nil {
			return nil, err
		}
		locked = append(locked, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, r := range some {
		b.held[r.id] = true
	}
	for _, r := range locked {
		delete(b.held, r.id)
	}
	b.found += len(some) - len(locked)
	return locked, nil
}

// over reports whether the batch found nothing to do any more.
func (b *batch) over() bool { return b.rows+b.answers+b.found == 0 }

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
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: e.clean.level})
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

// Purge removes at most limit rows that have expired and returns how many; of a key
// that is to be remembered (Op.KeepSeen) it removes the answer, which counts as
// well. It is one short transaction, and leaves alone what somebody holds; call it
// until it returns 0, or use Sweep, which does. Rows that old code wrote without an
// expiry get one first: now and the store's Keep.
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
		case err == nil && (b.rows+b.answers > 0 || b.over() || n == batchTries):
			return b.rows + b.answers, nil
		case err == nil: // all of it was held
		case n == batchTries || ctx.Err() != nil:
			return 0, fmt.Errorf("nebis: purge: %w", err)
		default:
			limit = b.less(err)
			pause(ctx, 0)
		}
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
		b.held[b.picked[0].id] = true
	}
	return max(1, b.limit/16)
}

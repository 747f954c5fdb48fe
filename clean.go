package nebis

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cleanSQL is what clean-up sends. A batch is picked by the index on the expiry,
// without a lock, then locked and removed by id, as a takeover goes about it: two
// ways to a row would be two orders in which its locks are taken.
//
//	stamp   keep in microseconds, limit: rows of old code get an expiry
//	pick    older, older, floor, limit: id, whether the key is to be remembered, expiry
//	lock    older, older: as pick, of those rows alone; empty where pick locks
//	drop    removes rows; fade takes the answer out of them: their ids
//	count   older, older, limit: how many rows, and how many of them are to fade
//	take    token, lease in microseconds: the turn to sweep; whose reads its token
//	hold    lease, token: the turn goes on
//	leave   response, token: the turn is over; quit leaves without one
//
// older, in microseconds, is for how long a row must have expired; floor is an
// expiry below which nothing is left.
type cleanSQL struct {
	stamp, pick, lock, drop, fade, count string
	take, whose, hold, leave, quit       string

	nothing string // a floor below every expiry
	array   bool   // ids go as one argument, else they are written into the text
}

// A cleaner is how one database says what clean-up needs.
type cleaner struct {
	table      string // quoted
	now, later string // as in newLeaseSQL
	cut        string // the clock, so many microseconds ago
	floor, at  string // an expiry as an argument, and as it is read
	nothing    string
	lock       string // what makes a read lock its rows
	ids        string // the condition that a row is one of some; %s: the ids, unless array
	keep       string // keeps a column from being set to the time of each update
	upsert     string // for an insert of the turn's row: what becomes of one that is there
}

const sweepKey = ` idem_key = 'sweep' AND scope = 'nebis.sweep' AND owner = '*'`

func (c cleaner) sql() cleanSQL {
	due := ` AND (status <> 'processing' OR token IS NULL)`
	columns := `SELECT id, CASE WHEN status = 'done' AND token IS NOT NULL AND lease_until > ` + c.cut + ` THEN 1 ELSE 0 END AS seen, ` + c.at + ` AS due_at
FROM ` + c.table + ` WHERE `
	expired := `expires_at <= ` + c.cut
	turn := `UPDATE ` + c.table + ` SET ` + c.keep
	return cleanSQL{
		pick:  columns + expired + ` AND expires_at >= ` + c.floor + due + ` ORDER BY expires_at LIMIT ?`,
		lock:  columns + expired + due + ` AND ` + c.ids,
		drop:  `DELETE FROM ` + c.table + ` WHERE ` + c.ids,
		fade:  `UPDATE ` + c.table + ` SET ` + c.keep + `response = NULL, expires_at = lease_until, lease_until = NULL WHERE ` + c.ids,
		count: `SELECT COUNT(*), COALESCE(SUM(seen), 0) FROM (` + columns + expired + due + ` ORDER BY expires_at LIMIT ?) AS due`,
		take: `INSERT INTO ` + c.table + ` (idem_key, scope, owner, status, token, lease_until, created_at, updated_at)
VALUES ('sweep', 'nebis.sweep', '*', 'done', ?, ` + c.later + `, ` + c.now + `, ` + c.now + `) ` + c.upsert,
		whose:   `SELECT COALESCE(token, '') FROM ` + c.table + ` WHERE` + sweepKey,
		hold:    turn + `expires_at = NULL, lease_until = ` + c.later + ` WHERE` + sweepKey + ` AND token = ?`,
		leave:   `UPDATE ` + c.table + ` SET lease_until = NULL, updated_at = ` + c.now + `, response = ? WHERE` + sweepKey + ` AND token = ?`,
		quit:    turn + `lease_until = NULL WHERE` + sweepKey + ` AND token = ?`,
		nothing: c.nothing,
		array:   !strings.Contains(c.ids, "%s"),
	}
}

// number names the parameters $1, $2, ….
func (c *cleanSQL) number() {
	for _, q := range []*string{&c.stamp, &c.pick, &c.lock, &c.drop, &c.fade, &c.count, &c.take, &c.hold, &c.leave, &c.quit} {
		*q = numbered(*q)
	}
}

// of makes a statement about some rows. Their ids are numbers that came from the
// table.
func (c *cleanSQL) of(stmt string, ids []int64) (string, []any) {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	if c.array {
		return stmt, []any{b.String()}
	}
	return strings.Replace(stmt, "%s", b.String(), 1), nil
}

// A batch is what clean-up does in one transaction.
type batch struct {
	limit int
	older time.Duration
	floor string
	held  map[int64]bool // rows that were found held; left alone
	token string         // of the turn that it is part of; empty: of none
	lease time.Duration  // of the turn

	picked        []int64 // rows that had expired
	rows, answers int     // what it did: rows removed, answers taken out of rows that stay
}

// do removes what has expired, in tx.
func (b *batch) do(ctx context.Context, tx *sql.Tx, e *engine) error {
	if b.token == "" && e.takeWriter != "" {
		if _, err := tx.ExecContext(ctx, e.takeWriter); err != nil {
			return err
		}
	}
	if b.token != "" {
		n, err := affected(tx.ExecContext(ctx, e.clean.hold, b.lease.Microseconds(), b.token))
		if err != nil || n != 1 {
			return orElse(err, ErrSweeping)
		}
	}
	old := b.older.Microseconds()
	drop, fade, err := b.read(ctx, tx, e.clean.pick, old, old, b.floor, b.limit+len(b.held))
	b.picked = append(append(b.picked, drop...), fade...)
	if err == nil && e.clean.lock != "" && len(b.picked) > 0 {
		drop, fade, err = b.locked(ctx, tx, e)
	}
	if err != nil {
		return err
	}
	if b.rows, err = some(ctx, tx, &e.clean, e.clean.drop, drop); err != nil {
		return err
	}
	b.answers, err = some(ctx, tx, &e.clean, e.clean.fade, fade)
	return err
}

// locked locks the rows that were picked, and leaves out those that somebody
// holds or has changed since.
func (b *batch) locked(ctx context.Context, tx *sql.Tx, e *engine) (drop, fade []int64, err error) {
	floor := b.floor
	stmt, _ := e.clean.of(e.clean.lock, b.picked)
	old := b.older.Microseconds()
	drop, fade, err = b.read(ctx, tx, stmt, old, old)
	b.floor = floor // these came in another order
	return drop, fade, err
}

// read reads the rows of a batch: those to be removed, and those whose answer is.
func (b *batch) read(ctx context.Context, tx *sql.Tx, stmt string, args ...any) (drop, fade []int64, err error) {
	rows, err := tx.QueryContext(ctx, stmt, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var seen int
		if err := rows.Scan(&id, &seen, &b.floor); err != nil {
			return nil, nil, err
		}
		switch {
		case b.held[id]:
		case seen != 0:
			fade = append(fade, id)
		default:
			drop = append(drop, id)
		}
	}
	return drop, fade, rows.Err()
}

// some does something to some rows, and returns to how many.
func some(ctx context.Context, tx *sql.Tx, c *cleanSQL, stmt string, ids []int64) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	stmt, args := c.of(stmt, ids)
	n, err := affected(tx.ExecContext(ctx, stmt, args...))
	return int(n), err
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

// Purge removes at most limit rows that have expired and returns how many; of a
// key that is to be remembered (Op.KeepSeen) it removes the answer, which counts
// as well. It is one short transaction, and leaves alone what somebody holds;
// call it until it returns 0, or use Sweep, which does. Rows that old code wrote
// without an expiry get one first: now and the store's Keep.
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
			return b.rows + b.answers, nil
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

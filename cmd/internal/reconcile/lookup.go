package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/find"
)

// longest is how long a transaction of ours stays open: an old snapshot keeps the
// database from cleaning up.
const longest = 2 * time.Second

// lookup finds rows of the business by their id.
type lookup struct {
	db      *sql.DB
	conn    *sql.Conn
	d       nebis.Dialect
	query   string
	columns []string
	timeout time.Duration

	tx     *sql.Tx
	began  time.Time
	server int64 // number of the session in the server; 0: there is none
}

func newLookup(ctx context.Context, db *sql.DB, d nebis.Dialect, o *Options) (*lookup, error) {
	query, err := find.CheckSelect("--sql", o.SQL, d)
	if err != nil {
		return nil, err
	}
	l := &lookup{db: db, d: d, query: query, timeout: o.Timeout}
	l.conn, err = db.Conn(ctx)
	return l, err
}

// prepare runs the query once, for an id that is not there: whether it works, and
// which columns it has, does not depend on the keys.
func (l *lookup) prepare(ctx context.Context, o *Options) error {
	if session := sessions[l.d]; session.number != "" {
		if err := l.conn.QueryRowContext(ctx, session.number).Scan(&l.server); err != nil {
			return err
		}
	}
	if _, err := l.rows(ctx, nil); err != nil {
		return named(err)
	}
	var wanted []string
	for _, s := range o.Same {
		wanted = append(wanted, s.column)
	}
	for _, e := range o.Expect {
		wanted = append(wanted, e.Column)
	}
	for _, name := range wanted {
		if at(l.columns, name) < 0 {
			return find.Mistakef("--sql selects no column %q; it has %s", name, strings.Join(l.columns, ", "))
		}
	}
	return nil
}

// named says whose fault it is, where nothing does.
func named(err error) error {
	if find.Writes(err) || errors.Is(err, errSlow) {
		return err
	}
	return fmt.Errorf("--sql: %w", err)
}

// errRefused: the fault is the id's, not the query's.
var errRefused = errors.New("the database does not take this id")

// find returns the rows of an id: two at most, as one is expected.
func (l *lookup) find(ctx context.Context, id string) ([][]sql.NullString, error) {
	rows, err := l.rows(ctx, l.arg(id))
	if err == nil || ctx.Err() != nil || errors.Is(err, errSlow) || find.Writes(err) {
		return rows, err
	}
	// An id that is no number, for one. Whether it is that, the query tells without it.
	if _, again := l.rows(ctx, nil); again != nil {
		return nil, named(err)
	}
	return nil, errRefused
}

// arg is an id as an argument. SQLite does not compare texts with numbers where a
// column has no type.
func (l *lookup) arg(id string) any {
	if n, err := strconv.ParseInt(id, 10, 64); l.d == nebis.SQLite && err == nil && strconv.FormatInt(n, 10) == id {
		return n
	}
	return id
}

var errSlow = errors.New("one lookup took too long")

func (l *lookup) rows(ctx context.Context, id any) ([][]sql.NullString, error) {
	tx, err := l.reading(ctx)
	if err != nil {
		return nil, err
	}
	bound, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	all, err := l.read(bound, tx, id)
	if err == nil {
		return all, nil
	}
	l.end()
	switch {
	case bound.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%w, more than %v: the column that the id is compared with wants an index (or give more --timeout)", errSlow, l.timeout)
	case find.Writes(err):
		return nil, find.Mistakef("--sql, or a view in it, tries to write, and nothing here may: %w", err)
	}
	return nil, err
}

// reading is the transaction that is open, unless it is old.
func (l *lookup) reading(ctx context.Context) (_ *sql.Tx, err error) {
	if l.tx != nil && time.Since(l.began) > longest {
		l.end()
	}
	if l.tx == nil {
		l.began = time.Now()
		l.tx, err = l.conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	}
	return l.tx, err
}

func (l *lookup) end() {
	if l.tx != nil {
		_ = l.tx.Rollback() // it has only read
		l.tx = nil
	}
}

func (l *lookup) read(ctx context.Context, tx *sql.Tx, id any) ([][]sql.NullString, error) {
	rows, err := tx.QueryContext(ctx, l.query, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if l.columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	var all [][]sql.NullString
	for len(all) < 2 && rows.Next() {
		row := make([]sql.NullString, len(l.columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

func (l *lookup) close() {
	l.end()
	_ = l.conn.Close()
}

// sessions tell how a session is named and ended.
var sessions = map[nebis.Dialect]struct{ number, end string }{
	nebis.MySQL:    {`SELECT CONNECTION_ID()`, `KILL %d`},
	nebis.Postgres: {`SELECT pg_backend_pid()`, `SELECT pg_terminate_backend(%d)`},
}

// stop ends a statement that was given up: a server goes on when its client is gone.
func (l *lookup) stop(ctx context.Context) {
	if l.server == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	_, _ = l.db.ExecContext(ctx, fmt.Sprintf(sessions[l.d].end, l.server)) // mostly it is gone already
}

// stopWithin bounds the wait for a server that does not answer.
const stopWithin = 10 * time.Second

package stuck

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// Who has written to the table keeps a ROW EXCLUSIVE lock on it until the end of
// the transaction. One that waits for another's key has that lock as well, and
// holds nothing. Of other accounts' transactions only pg_read_all_stats shows the
// age and the statement.
const (
	postgresHeld = `SELECT a.pid, COALESCE((EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start) * 1000000)::bigint, -1),
  COALESCE(a.usename::text, ''), COALESCE(host(a.client_addr), ''), COALESCE(a.application_name, ''),
  COALESCE(a.state, ''), COALESCE(left(a.query, 4000), ''),
  (SELECT COUNT(*) FROM pg_stat_activity w WHERE a.pid = ANY (pg_blocking_pids(w.pid)))
` + postgresHolders + ` ORDER BY a.xact_start`

	postgresHolders = `FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.wait_event_type IS DISTINCT FROM 'Lock' AND EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.locktype = 'relation' AND l.mode = 'RowExclusiveLock'
    AND l.relation = to_regclass($1) AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
)

// For a number every few seconds, not asked who waits for whom: that stops the
// server's locking for a moment, once for each of its connections.
const postgresCount = `SELECT COUNT(a.xact_start), COUNT(*) - COUNT(a.xact_start) ` + postgresHolders + `
  AND (a.xact_start IS NULL OR a.xact_start < clock_timestamp() - $2 * interval '1 microsecond')`

// A transaction that was prepared and forgotten has no connection.
const postgresPrepared = `SELECT (EXTRACT(EPOCH FROM clock_timestamp() - p.prepared) * 1000000)::bigint, p.owner::text
FROM pg_prepared_xacts p JOIN pg_locks l ON l.virtualtransaction = '-1/' || p.transaction::text
WHERE p.database = current_database() AND l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.relation = to_regclass($1)`

func postgres(ctx context.Context, db *sql.DB, t *keytable.Table, over time.Duration) (*Report, error) {
	name := keytable.Quoted(nebis.Postgres, t.Name())
	rows, err := db.QueryContext(ctx, postgresHeld, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	r, hidden := &Report{}, 0
	for rows.Next() {
		var x Transaction
		var micros int64
		if err := rows.Scan(&x.Connection, &micros, &x.User, &x.Host, &x.Program, &x.State, &x.Query, &x.Waiting); err != nil {
			return nil, err
		}
		x.Age = time.Duration(micros) * time.Microsecond
		switch {
		case micros < 0:
			hidden++
		case x.Age > over:
			r.Held = append(r.Held, x)
		}
	}
	if hidden > 0 {
		r.Limits = append(r.Limits, fmt.Sprintf("%d connections of other accounts hold keys, and this one may not see for how long: GRANT pg_read_all_stats TO the account of nebis", hidden))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return r, r.prepared(ctx, db, name, over)
}

// Count is Find for who only wants to know how many, on PostgreSQL: those that are
// older than over, and those whose age this account may not see.
func Count(ctx context.Context, db *sql.DB, table string, over time.Duration) (held, hidden int, err error) {
	name := keytable.Quoted(nebis.Postgres, table)
	if err := db.QueryRowContext(ctx, postgresCount, name, over.Microseconds()).Scan(&held, &hidden); err != nil {
		return 0, 0, fmt.Errorf("count open transactions: %w", err)
	}
	r := &Report{}
	err = r.prepared(ctx, db, name, over)
	return held + len(r.Held), hidden, err
}

func (r *Report) prepared(ctx context.Context, db *sql.DB, name string, over time.Duration) error {
	rows, err := db.QueryContext(ctx, postgresPrepared, name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var micros int64
		x := Transaction{State: "prepared (PREPARE TRANSACTION) and not ended"}
		if err := rows.Scan(&micros, &x.User); err != nil {
			return err
		}
		if x.Age = time.Duration(micros) * time.Microsecond; x.Age > over {
			r.Held = append(r.Held, x)
		}
	}
	return rows.Err()
}

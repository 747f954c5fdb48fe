package stuck

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/nebis-dev/nebis/cmd/internal/keytable"
)

// No table of InnoDB's says on every version which tables a transaction has written
// to, but its rows can be seen before it ends, at READ UNCOMMITTED: a claim without
// a lease that is not done. So the rows tell that keys are held, which, and for how
// long; and innodb_trx, with the PROCESS privilege, which connections it can be.
func mysql(ctx context.Context, db *sql.DB, t *keytable.Table, over, budget time.Duration) (*Report, error) {
	claims, whole, err := uncommitted(ctx, db, t, over, budget)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if !whole {
		r.Limits = append(r.Limits, "the table is large: only its newest rows were looked at for keys that are held")
	}
	if len(claims) == 0 {
		return r, nil
	}
	open, err := transactions(ctx, db)
	if err != nil {
		r.Limits = append(r.Limits, "which connections hold keys cannot be told without the PROCESS privilege: GRANT PROCESS ON *.* TO the account of nebis")
	}
	for _, c := range claims {
		r.Held = append(r.Held, matched(c, open))
	}
	return r, nil
}

// A claim is a row that its transaction has not committed.
type claim struct {
	row keytable.Row
	age time.Duration
}

func uncommitted(ctx context.Context, db *sql.DB, t *keytable.Table, over, budget time.Duration) ([]claim, bool, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadUncommitted, ReadOnly: true})
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback()
	page, err := t.On(tx).Open(ctx, over, budget)
	if err != nil || len(page.Rows) == 0 {
		return nil, page == nil || page.Whole, err
	}
	var micros int64
	if err := tx.QueryRowContext(ctx, `SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`).Scan(&micros); err != nil {
		return nil, false, err
	}
	var all []claim
	for _, row := range page.Rows {
		all = append(all, claim{row, time.UnixMicro(micros).Sub(row.CreatedAt)})
	}
	return all, page.Whole, nil
}

// The age comes from the server: its session's zone, in which trx_started is
// told, is that of NOW().
const mysqlOpen = `SELECT t.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), COALESCE(p.user, ''), COALESCE(p.host, ''),
  CONCAT(COALESCE(p.command, ''), CASE WHEN t.trx_state = 'RUNNING' THEN '' ELSE CONCAT(', ', t.trx_state) END), COALESCE(LEFT(t.trx_query, 4000), ''),
  (SELECT COUNT(*) FROM information_schema.innodb_trx w WHERE w.trx_state = 'LOCK WAIT')
FROM information_schema.innodb_trx t LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_rows_modified > 0 AND t.trx_mysql_thread_id <> CONNECTION_ID() ORDER BY t.trx_started`

func transactions(ctx context.Context, db *sql.DB) ([]Transaction, error) {
	rows, err := db.QueryContext(ctx, mysqlOpen)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Transaction
	for rows.Next() {
		var x Transaction
		var seconds int64
		if err := rows.Scan(&x.Connection, &seconds, &x.User, &x.Host, &x.State, &x.Query, &x.Waiting); err != nil {
			return nil, err
		}
		x.Age = time.Duration(seconds) * time.Second
		all = append(all, x)
	}
	return all, rows.Err()
}

// matched is the transaction that has claimed a row: of those that began before it,
// the one that began last, as a claim is mostly a transaction's first statement.
func matched(c claim, open []Transaction) Transaction {
	var likely []Transaction
	for _, x := range open {
		if x.Age >= c.age-2*time.Second {
			likely = append(likely, x)
		}
	}
	x := Transaction{Age: c.age}
	if len(likely) > 0 {
		x = slices.MinFunc(likely, func(a, b Transaction) int { return int(a.Age - b.Age) })
		x.Age = max(x.Age, c.age)
		if len(likely) > 1 {
			x.State += fmt.Sprintf(" (or one of %d others as old)", len(likely)-1)
		}
	}
	x.Scope, x.Row = c.row.Scope, c.row.ID
	return x
}

// Package binlog tells how MySQL and MariaDB write their binary log.
package binlog

import (
	"context"
	"database/sql"
	"errors"
)

type querier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// Level is the isolation of a short transaction that writes and would rather not lock
// gaps: the one that is wanted, but where a binary log takes statements, which is the
// default of MySQL before 5.7.7. There InnoDB refuses writes below REPEATABLE READ
// (error 1665).
func Level(ctx context.Context, q querier, wanted sql.IsolationLevel) (sql.IsolationLevel, error) {
	log, err := setting(ctx, q, "log_bin")
	if err != nil || log != "ON" {
		return wanted, err
	}
	format, err := setting(ctx, q, "binlog_format")
	if format == "STATEMENT" {
		wanted = sql.LevelRepeatableRead
	}
	return wanted, err
}

// setting is empty on a server that has none of this name, where @@name would fail.
func setting(ctx context.Context, q querier, name string) (value string, err error) {
	err = q.QueryRowContext(ctx, `SHOW SESSION VARIABLES WHERE Variable_name = '`+name+`'`).Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, err
}

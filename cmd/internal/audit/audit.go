// Package audit keeps the record of what people did to keys: a table beside the
// key table, into which a line goes in the very transaction that changes a key.
package audit

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis"
)

// A Record is one thing that a person did to a key.
type Record struct {
	At     time.Time `json:"at"` // the database's clock; given by Add
	By     string    `json:"by"`
	Action string    `json:"action"`
	Scope  string    `json:"-"`
	Owner  string    `json:"-"`
	Key    string    `json:"-"`
	Before string    `json:"before"`
	After  string    `json:"after"`
	Reason string    `json:"reason"`
}

// A Log is the audit table of one key table.
type Log struct {
	d             nebis.Dialect
	schema, table string
}

// New names the log of a key table, whose name must be one that nebis.New has
// taken.
func New(d nebis.Dialect, keys string) Log {
	schema, table, ok := strings.Cut(keys, ".")
	if !ok {
		schema, table = "", keys
	}
	return Log{d, schema, table + "_audit"}
}

// String names the table for people.
func (l Log) String() string {
	if l.schema == "" {
		return l.table
	}
	return l.schema + "." + l.table
}

// Prepare makes the table where it is missing. On MySQL that ends a transaction,
// so it comes before one.
func (l Log) Prepare(ctx context.Context, db *sql.DB) error {
	there, err := l.there(ctx, db)
	if err != nil || there {
		return err
	}
	if _, err := db.ExecContext(ctx, l.ddl()); err != nil {
		return fmt.Errorf("the table %s, for what people do to keys, is not there and cannot be made; an account that may make it does so with\n%s\n%w", l, l.ddl(), err)
	}
	return nil
}

// Add writes a record in the caller's transaction.
func (l Log) Add(ctx context.Context, tx *sql.Tx, r Record) error {
	values := "?, ?, ?, ?, ?, ?, ?, ?"
	if l.d == nebis.Postgres {
		values = "$1, $2, $3, $4, $5, $6, $7, $8"
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO `+l.quoted()+` (at, by_user, action, scope, owner, idem_key, state_before, state_after, reason)
VALUES (`+l.now()+`, `+values+`)`, r.By, r.Action, r.Scope, r.Owner, r.Key, r.Before, r.After, r.Reason)
	if err != nil {
		return fmt.Errorf("write to %s: %w", l, err)
	}
	return nil
}

// List returns what was done to a key, the oldest first. Where there is no table
// nobody has done anything.
func (l Log) List(ctx context.Context, db *sql.DB, scope, owner, key string) ([]Record, error) {
	there, err := l.there(ctx, db)
	if err != nil || !there {
		return nil, err
	}
	where := "scope = ? AND owner = ? AND idem_key = ?"
	if l.d == nebis.Postgres {
		where = "scope = $1 AND owner = $2 AND idem_key = $3"
	}
	rows, err := db.QueryContext(ctx, `SELECT `+l.micros()+`, by_user, action, state_before, state_after, reason
FROM `+l.quoted()+` WHERE `+where+` ORDER BY id`, scope, owner, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l, err)
	}
	defer rows.Close()
	var list []Record
	for rows.Next() {
		r := Record{Scope: scope, Owner: owner, Key: key}
		var at int64
		if err := rows.Scan(&at, &r.By, &r.Action, &r.Before, &r.After, &r.Reason); err != nil {
			return nil, fmt.Errorf("read %s: %w", l, err)
		}
		r.At = time.UnixMicro(at).UTC()
		list = append(list, r)
	}
	return list, rows.Err()
}

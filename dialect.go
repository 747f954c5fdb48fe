package nebis

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nebis-dev/nebis/internal/sqltext"
)

// Dialect names a family of databases that speak the same SQL.
type Dialect int

// The dialects.
const (
	MySQL    Dialect = iota + 1 // MySQL from 5.6, MariaDB from 10.6
	Postgres                    // PostgreSQL from 13
	SQLite                      // SQLite from 3.35
)

// String returns the dialect's name in lower case.
func (d Dialect) String() string {
	switch d {
	case MySQL:
		return "mysql"
	case Postgres:
		return "postgres"
	case SQLite:
		return "sqlite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// Schema returns the statements that make the table with its two indexes where
// it is missing, separated by semicolons, for people who keep their own
// migrations. An empty table name means "idempotency".
func (d Dialect) Schema(table string) (string, error) {
	n, err := parseName(table)
	if err != nil {
		return "", err
	}
	ddl := d.schema(n)
	if ddl == nil {
		return "", fmt.Errorf("nebis: unknown dialect %v", d)
	}
	return strings.Join(ddl, ";\n\n") + ";\n", nil
}

func (d Dialect) schema(n sqltext.Name) []string {
	switch d {
	case MySQL:
		return mysqlSchema(n)
	case Postgres:
		return postgresSchema(n)
	case SQLite:
		return sqliteSchema(n)
	}
	return nil
}

// An engine is the SQL of one kind of server. All statements take their
// arguments in the same order:
//
//	insert    key, scope, owner, fingerprint, token, keep in microseconds
//	takeover  owner, fingerprint, token, keep, row id, key, scope, the token that was seen
//	recheck   owner, fingerprint, token, keep, row id, the token that was seen
//	read      key, scope, owner; own likewise
//	save      response, row id, token; with saveByKey response, key, scope, owner, token
//	seen      microseconds, after the response; with saveByKey after the token
//	grant     as save, with the lease in microseconds for the response
//	harden    row id, token
//	look      as read; lookTx likewise
//	lock      row id, the token that was seen
type engine struct {
	insert, takeover, recheck string
	first                     string // insert, waiting as little as the server can
	read                      string // the key's row, or old code's
	own                       string // the key's row only: one lookup in the unique index
	harden                    string // where a commit is seen before it is on disk
	save, saveTx              string // saveTx: inside the caller's transaction
	grant                     string // of a lease
	seen                      string // in a save: for how long the key is remembered
	saveSeen, saveTxSeen      string // with it
	lease                     leaseSQL
	look, lookTx, lock        string // the row with all that is told of it; lookTx: inside the caller's transaction
	clean                     cleanSQL

	// Waits for who holds the key, with read's arguments, where a waiting insert
	// would keep other keys waiting, too. Empty: the insert waits.
	await string

	// In the caller's transaction, where insert and takeover would lose it to a
	// deadlock: one statement for both, with insert's arguments, after which
	// readTx tells who won. Empty elsewhere.
	upsert, readTx string

	// bounded gives a claim statement a limit to its lock waits that does not
	// stay in force afterwards. Zero: wait as little as the server can.
	// boundedTx does it in the caller's transaction.
	bounded, boundedTx bound

	// won runs a claim statement and tells whether it got the row, and the id of
	// a row that it inserted, if the database tells.
	won func(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, claim string, args []any) (id int64, won bool, err error)

	after, before string // run after the claim and before the save, if any
	takeWriter    string // to be sent first: a transaction that began with a read could not write
	blindWrite    bool   // readers stand in the writer's way: nothing is looked for
	hex           bool   // the answer is sent in hex: as text, the connection's charset would convert it
	disarm        string // puts the session right again after a rollback, if needed
	saveCommits   bool   // the save commits in the same statement
	saveByKey     bool   // the claim does not tell the id of its row

	// Servers that can limit a lock wait by the session only: the session's own
	// limit, in seconds. 0 elsewhere.
	sessionWait int
}

// A bound writes a limit to lock waits into a statement.
type bound func(claim string, wait time.Duration) string

func (b bound) to(claim string, wait time.Duration) string {
	if b == nil {
		return claim
	}
	return b(claim, wait)
}

// parseName checks a table's name. An empty one is the default.
func parseName(table string) (sqltext.Name, error) {
	n, err := sqltext.ParseName(cmp.Or(table, defaultTable))
	if err != nil {
		return n, fmt.Errorf("nebis: %w", err)
	}
	return n, nil
}

// errorTells reports whether the claim statement went through: it fails where
// it matches nothing.
func errorTells(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, claim string, args []any) (int64, bool, error) {
	_, err := exec(ctx, tx, stmt, claim, args...)
	return 0, err == nil, err
}

// rowsWon reports whether the claim statement changed one row.
func rowsWon(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, claim string, args []any) (int64, bool, error) {
	res, err := exec(ctx, tx, stmt, claim, args...)
	if err != nil {
		return 0, false, err
	}
	n, err := res.RowsAffected()
	if n != 1 || err != nil {
		return 0, false, err
	}
	id, err := res.LastInsertId()
	return id, err == nil, err
}

// countWon is rowsWon for databases that do not tell the id.
func countWon(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, claim string, args []any) (int64, bool, error) {
	res, err := exec(ctx, tx, stmt, claim, args...)
	if err != nil {
		return 0, false, err
	}
	n, err := res.RowsAffected()
	return 0, n == 1 && err == nil, err
}
